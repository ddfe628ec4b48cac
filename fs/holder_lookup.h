// Finding and asking the holder of a mount without looking through the mount, which may answer nothing but
// EIO.
#pragma once

#include <optional>
#include <string>

#include "cache/file_descriptor.h"

namespace winnow {

struct HolderProcess {
  int pid = 0;
  std::string state_dir;
};

// The living holder of the mount at exactly this (resolved) path, in this mount namespace.
std::optional<HolderProcess> find_holder(const std::string& mountpoint);

// A mount that nobody will ever serve again: dead, or mute and held by nobody.
bool is_abandoned(const std::string& mountpoint);

// A line to the holder's command socket; see fs/holder_protocol.h. Throws StartupError.
FileDescriptor connect_to_holder(const std::string& state_dir);

// Has a holder that gave up start a worker again; returns when that serves. Throws StartupError.
void restart_worker(const std::string& mountpoint);

}  // namespace winnow
