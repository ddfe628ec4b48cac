#include "fs/mount_lookup.h"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "cache/result.h"
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

bool is_dead(const std::string& mountpoint) {
  struct stat found {};
  return stat(mountpoint.c_str(), &found) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

nlohmann::ordered_json read_status(const std::string& mountpoint) {
  errno = 0;
  std::ifstream file(mountpoint + "/.winnow/status.json");
  if (!file) {
    const int error = errno;
    if (is_dead(mountpoint)) {
      throw StartupError("the mount at " + mountpoint +
                         " is dead: its daemon is gone; clear it with winnow unmount " + mountpoint);
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
