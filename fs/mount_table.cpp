#include "fs/mount_table.h"

#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

namespace winnow {

namespace {

constexpr const char* kType = "fuse.winnow";

// mountinfo writes blanks and backslashes as three octal digits.
std::string unescape(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && text.size() - i > 3) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::optional<MountEntry> parse(const std::string& line) {
  std::istringstream words(line);
  std::string id, parent, device, root, mountpoint, options, word;
  words >> id >> parent >> device >> root >> mountpoint >> options;
  while (words >> word && word != "-") {
  }
  std::string type, source;
  if (!(words >> type >> source)) return std::nullopt;
  return MountEntry{unescape(mountpoint), unescape(source), type, device};
}

}  // namespace

std::vector<MountEntry> all_mounts() {
  std::vector<MountEntry> mounts;
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    if (auto entry = parse(line)) mounts.push_back(std::move(*entry));
  }
  return mounts;
}

std::vector<MountEntry> winnow_mounts() {
  std::vector<MountEntry> mounts = all_mounts();
  std::erase_if(mounts, [](const MountEntry& entry) { return entry.type != kType; });
  return mounts;
}

std::optional<MountEntry> mount_at(const std::string& mountpoint) {
  std::vector<MountEntry> mounts = all_mounts();
  const auto found = std::find_if(mounts.rbegin(), mounts.rend(),
                                  [&](const MountEntry& entry) { return entry.mountpoint == mountpoint; });
  if (found == mounts.rend()) return std::nullopt;
  return *found;
}

bool is_dead_mount(const std::string& mountpoint) {
  // stat may be answered from attributes the kernel remembers; this never is.
  struct statfs space {};
  return statfs(mountpoint.c_str(), &space) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

}  // namespace winnow
