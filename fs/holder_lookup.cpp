#include "fs/holder_lookup.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "cache/result.h"
#include "fs/holder_protocol.h"
#include "fs/mount_table.h"

namespace winnow {

namespace {

namespace files = std::filesystem;

// Empty if the process is gone: a stream would throw in the middle of it.
std::vector<std::string> command_line(const files::path& process) {
  const FileDescriptor file(open((process / "cmdline").c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  for (ssize_t n; file && (n = read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  std::vector<std::string> words;
  // Not every program leaves a NUL at the end of it.
  for (std::size_t at = 0; at < text.size(); at += words.back().size() + 1)
    words.emplace_back(text.c_str() + at);
  return words;
}

std::optional<std::string> value_of(const std::vector<std::string>& words, const std::string& name) {
  for (const std::string& word : words) {
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  }
  return std::nullopt;
}

// Another container may have a mount at the same path. Whoever may not look, is told yes.
bool shares_our_mounts(const files::path& process) {
  std::error_code error;
  const auto theirs = files::read_symlink(process / "ns/mnt", error);
  return error || theirs == files::read_symlink("/proc/self/ns/mnt", error);
}

}  // namespace

std::optional<HolderProcess> find_holder(const std::string& mountpoint) {
  std::error_code error;
  for (files::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    int pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size())
      continue;
    const auto words = command_line(at->path());
    if (words.empty() || files::path(words[0]).filename() != "winnow-holder") continue;
    if (value_of(words, "mountpoint") != mountpoint || !shares_our_mounts(at->path())) continue;
    return HolderProcess{pid, value_of(words, "state-dir").value_or("")};
  }
  return std::nullopt;
}

bool is_abandoned(const std::string& mountpoint) {
  return feel_pulse(mountpoint) != Pulse::kAnswers && !find_holder(mountpoint);
}

FileDescriptor connect_to_holder(const std::string& state_dir) {
  FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  // By way of the folder: a socket's name holds 108 bytes, a state directory's path may have more.
  const FileDescriptor folder(open(state_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/holder", folder.get());
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw StartupError("the holder of this mount does not answer: " + errno_text(errno) +
                       "; run as the user who mounted, or as root");
  }
  return fd;
}

void restart_worker(const std::string& mountpoint) {
  const auto holder = find_holder(mountpoint);
  if (!holder)
    throw StartupError("nobody holds a mount at " + mountpoint +
                       "; winnow status lists the mounts there are");
  const FileDescriptor line = connect_to_holder(holder->state_dir);
  char word = holder_protocol::kRestart;
  if (send(line.get(), &word, 1, MSG_NOSIGNAL) != 1 || recv(line.get(), &word, 1, 0) != 1 ||
      word != holder_protocol::kOk) {
    throw StartupError("the holder of " + mountpoint + " did not start a worker; " + holder->state_dir +
                       "/winnow.log may tell why");
  }
  for (int i = 0; i < 100 && feel_pulse(mountpoint) == Pulse::kDead; ++i) usleep(100'000);  // it is mounted anew
}

}  // namespace winnow
