// The command line: each function adds one command to the program. A command does its work in its callback,
// and throws with a sentence for the user when it fails.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace winnow {

void add_mount_command(CLI::App& app);
void add_unmount_command(CLI::App& app);
void add_status_command(CLI::App& app);
void add_refresh_command(CLI::App& app);
void add_warm_command(CLI::App& app);
void add_hint_command(CLI::App& app);
void add_select_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_serve_command(CLI::App& app);  // what a holder starts; not for people
void add_upgrade_command(CLI::App& app);

// --config FILE, for every command.
void add_config_option(CLI::App& app);

// mount(8) calls `mount.fuse.winnow SOURCE MOUNTPOINT -o a,b=c`: gives the words of `winnow mount` for that.
std::vector<std::string> mount_helper_words(const std::vector<std::string>& words);

}  // namespace winnow
