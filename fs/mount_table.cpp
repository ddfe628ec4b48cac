#include "fs/mount_table.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "cache/file_descriptor.h"

namespace winnow {

namespace {

constexpr const char* kType = "fuse.winnow";
constexpr int kPatienceMs = 2'000;

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

// In a child: whoever asks a mount that nobody serves and that is not dead either waits, and cannot be killed.
Pulse feel_pulse(const std::string& mountpoint) {
  const pid_t child = fork();
  if (child < 0) return Pulse::kMute;
  if (child == 0) {
    // stat may be answered from attributes the kernel remembers; this never is.
    struct statfs space {};
    _exit(statfs(mountpoint.c_str(), &space) != 0 && (errno == ENOTCONN || errno == ECONNABORTED) ? 1 : 0);
  }
  const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  pollfd ended{process.get(), POLLIN, 0};
  int status = 0;
  if (poll(&ended, 1, kPatienceMs) <= 0) return Pulse::kMute;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 1 ? Pulse::kDead : Pulse::kAnswers;
}

}  // namespace winnow
