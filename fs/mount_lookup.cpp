#include "fs/mount_lookup.h"

#include <cerrno>
#include <fstream>
#include <sstream>

#include "cache/result.h"
#include "fs/holder_lookup.h"
#include "fs/mounting.h"

namespace winnow {

MountEntry find_mount(const std::string& path) {
  const std::string wanted = resolve_mountpoint(path);
  const MountEntry* best = nullptr;
  const auto mounts = winnow_mounts();
  for (const MountEntry& entry : mounts) {
    const bool around = wanted == entry.mountpoint || wanted.starts_with(entry.mountpoint + "/");
    if (around && (best == nullptr || entry.mountpoint.size() >= best->mountpoint.size())) best = &entry;
  }
  if (best == nullptr)
    throw StartupError("no Winnow mount at " + path + "; winnow status lists the mounts there are");
  return *best;
}

nlohmann::ordered_json read_status(const std::string& mountpoint) {
  errno = 0;
  std::ifstream file(mountpoint + "/.winnow/status.json");
  if (!file) {
    const int error = errno;
    if (is_dead_mount(mountpoint)) {
      throw StartupError("the mount at " + mountpoint +
                         " is dead: its daemon is gone; clear it with winnow unmount " + mountpoint);
    }
    if (error == EIO && find_holder(mountpoint)) {
      throw StartupError("the mount at " + mountpoint +
                         " gave up after too many deaths of its worker; "
                         "winnow status --restart " +
                         mountpoint + " starts it again");
    }
    throw StartupError("the mount at " + mountpoint + " cannot be asked: " + errno_text(error) +
                       "; run as the user who mounted it, or mount with --allow-other");
  }
  std::ostringstream text;
  text << file.rdbuf();
  auto json = nlohmann::ordered_json::parse(text.str(), nullptr, false);
  if (!json.is_object())
    throw StartupError("the mount at " + mountpoint + " gave no status; is it served by another version?");
  return json;
}

}  // namespace winnow
