// `winnow select`: tries a policy on a table of facts before it is used.
#pragma once

#include <CLI/CLI.hpp>

namespace winnow {

// The command prints to standard output and throws PolicyError with one sentence when it fails.
void add_select_command(CLI::App& app);

}  // namespace winnow
