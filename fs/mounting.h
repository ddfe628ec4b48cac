// Mounting and unmounting: root by mount(2), an ordinary user through fusermount3. Errors are sentences.
#pragma once

#include <string>

#include "cache/file_descriptor.h"

namespace winnow {

struct MountRequest {
  std::string source;      // as shown by mount(8)
  std::string mountpoint;  // absolute and resolved
  bool allow_other = false;
};

// Absolute and resolved, also when a dead mount covers it and it cannot be looked at.
std::string resolve_mountpoint(const std::string& path);

// Throws StartupError unless `mountpoint` is an empty folder without a mount on it, apart from `source`
// (empty: not on this machine).
void check_mountpoint(const std::string& mountpoint, const std::string& source);

// The FUSE device descriptor of a new mount. Throws StartupError.
FileDescriptor mount_fuse(const MountRequest& request);

enum class UnmountKind {
  kPlain,  // refused while somebody uses it
  kLazy,   // gone at once for new users; the rest of it when the last user leaves
  kForce,  // the same, and requests under way fail
};
// 0, or errno; EBUSY while somebody uses it.
int unmount(const std::string& mountpoint, UnmountKind kind);

}  // namespace winnow
