#include <algorithm>
#include <cstdlib>

#include "fs/commands.h"

namespace winnow {

namespace {

// `memory = "4G"` at the top of a file is for each command that has it, or stands in the section of one.
class CommandConfig final : public CLI::ConfigTOML {
 public:
  explicit CommandConfig(const CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const CLI::App& command = *app_.get_subcommands().front();
    std::vector<CLI::ConfigItem> ours;
    for (CLI::ConfigItem& item : CLI::ConfigTOML::from_config(input)) {
      if (item.name == "++" || item.name == "--") continue;  // where a section begins and ends
      std::replace(item.name.begin(), item.name.end(), '_', '-');
      if (item.name == "source" || item.name == "mountpoint") {
        std::transform(item.name.begin(), item.name.end(), item.name.begin(), ::toupper);
      }
      if (!is_known(item)) {
        throw CLI::ConfigError("the configuration file sets '" + item.fullname() + "', which no command has");
      }
      if (item.parents.empty()) item.parents.push_back(command.get_name());
      if (item.parents.front() != command.get_name() || !has(command, item)) continue;
      if (!is_in_environment(command, item)) ours.push_back(std::move(item));
    }
    return ours;
  }

 private:
  static bool has(const CLI::App& command, const CLI::ConfigItem& item) {
    return command.get_option_no_throw(item.name) != nullptr ||
           command.get_option_no_throw("--" + item.name) != nullptr;
  }

  // CLI11 looks at the environment after the file, and only for what is still missing; here it goes first.
  static bool is_in_environment(const CLI::App& command, const CLI::ConfigItem& item) {
    const CLI::Option* option = command.get_option_no_throw("--" + item.name);
    return option != nullptr && std::getenv(option->get_envname().c_str()) != nullptr;
  }

  bool is_known(const CLI::ConfigItem& item) const {
    const auto commands = app_.get_subcommands([](const CLI::App*) { return true; });
    return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
      return (item.parents.empty() || item.parents.front() == command->get_name()) && has(*command, item);
    });
  }

  const CLI::App& app_;
};

}  // namespace

void add_config_option(CLI::App& app) {
  // For the same reason the variable is read here; what it names must exist, as what --config names must.
  const char* from_environment = std::getenv("WINNOW_CONFIG");
  const bool given = from_environment != nullptr && *from_environment != '\0';
  app.set_config("--config", given ? from_environment : "",
                 "Read options from a TOML file: memory = \"4G\" (Env:WINNOW_CONFIG)", given);
  app.config_formatter(std::make_shared<CommandConfig>(app));
}

}  // namespace winnow
