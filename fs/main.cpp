#include <filesystem>
#include <iostream>

#include "cache/result.h"
#include "fs/commands.h"
#include "fs/version.h"

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int run(std::vector<std::string> words) {
  CLI::App app("Winnow: a caching filesystem for training data", "winnow");
  app.set_version_flag("--version", std::string("winnow ") + winnow::kVersion);
  app.require_subcommand(1);
  app.fallthrough();
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return "winnow: " + std::string(error.what()) +
           "; winnow --help, or --help after a command, tells what it takes\n";
  });
  winnow::add_mount_command(app);
  winnow::add_unmount_command(app);
  winnow::add_status_command(app);
  winnow::add_refresh_command(app);
  winnow::add_warm_command(app);
  winnow::add_hint_command(app);
  winnow::add_select_command(app);
  winnow::add_simulate_command(app);
  winnow::add_upgrade_command(app);
  winnow::add_serve_command(app);
  winnow::add_config_option(app);
  try {
    const auto is_named = [&](const CLI::App* command) { return command->get_name() == words[0]; };
    if (!words.empty() && !words[0].starts_with('-') && app.get_subcommands(is_named).empty())
      throw CLI::ValidationError("there is no command '" + words[0] + "'");  // CLI11 would only miss one
    std::reverse(words.begin(), words.end());  // as CLI11 wants a vector
    app.parse(std::move(words));
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  } catch (const std::exception& error) {
    std::cerr << "winnow: " << error.what() << '\n';
    return kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::string program = std::filesystem::path(argv[0]).filename().string();
  if (program == "mount.fuse.winnow" || program == "mount.winnow") {
    try {
      words = winnow::mount_helper_words(words);
    } catch (const std::exception& error) {
      std::cerr << program << ": " << error.what() << '\n';
      return kUsage;
    }
  }
  return run(std::move(words));
}
