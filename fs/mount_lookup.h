// Finds a running mount for the commands that talk about one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "fs/mount_table.h"

namespace winnow {

// The Winnow mount at `path`, or around it. Throws StartupError if there is none.
MountEntry find_mount(const std::string& path);

// What the mount says of itself. Throws StartupError; the mount may be dead or not ours to read.
nlohmann::ordered_json read_status(const std::string& mountpoint);

}  // namespace winnow
