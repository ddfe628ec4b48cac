#include <CLI/CLI.hpp>

#include "fs/commands.h"

namespace winnow {

namespace {

// `memory = "4G"` at the top of a file means the command at hand, as does a section named after it.
class FlatConfig final : public CLI::ConfigTOML {
 public:
  explicit FlatConfig(const CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    auto found = CLI::ConfigTOML::from_config(input);
    const auto commands = app_.get_subcommands();
    for (CLI::ConfigItem& item : found) {
      if (item.parents.empty() && !commands.empty()) item.parents.push_back(commands.front()->get_name());
      std::replace(item.name.begin(), item.name.end(), '_', '-');
    }
    // A section of another command is not this one's business.
    std::erase_if(found, [&](const CLI::ConfigItem& item) {
      return !commands.empty() && !item.parents.empty() &&
             item.parents.front() != commands.front()->get_name();
    });
    return found;
  }

 private:
  const CLI::App& app_;
};

}  // namespace

void add_config_option(CLI::App& app) {
  app.set_config("--config", "", "Read options from a TOML file: memory = \"4G\"")->envname("WINNOW_CONFIG");
  app.config_formatter(std::make_shared<FlatConfig>(app));
  app.allow_config_extras(false);
}

}  // namespace winnow
