#include "cache/disk/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <thread>

#include "cache/result.h"

namespace winnow {

namespace {

constexpr std::chrono::milliseconds kDyingWrites{100};  // of a process that is killed and cannot die

std::string read_owner(int fd) {
  char text[PATH_MAX + 64];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
}

// "device:inode path": in another container, the same path is another file.
std::string name_of(const std::string& owner) {
  struct stat file {};
  if (owner.empty() || stat(owner.c_str(), &file) != 0) return {};
  return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino) + " " + owner;
}

std::string path_of(const std::string& name) { return name.substr(std::min(name.size(), name.find(' ') + 1)); }

// Whether the owner of that name keeps its file locked. One that cannot be looked at may.
bool is_alive(const std::string& name) {
  const std::string path = path_of(name);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno != ENOENT;
  if (name_of(path) != name) return false;
  return flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

[[noreturn]] void refuse(const std::string& folder, const std::string& owner) {
  const std::string by =
      owner.empty() ? "" : " whose state is in " + std::filesystem::path(path_of(owner)).parent_path().string();
  throw StartupError("disk tier " + folder + " is in use by another winnow" + by +
                     "; unmount that one or give another --disk-dir");
}

void make(const std::string& folder, FileDescriptor& lock) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) lock.reset(open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) {
    throw StartupError("disk tier " + folder + " cannot be written: " +
                       (error ? error.message() : errno_text(errno)) + "; give another --disk-dir");
  }
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, const std::string& owner, std::chrono::milliseconds patience) {
  make(folder, fd_);
  const std::string name = name_of(owner);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK)
      throw StartupError("disk tier " + folder + " cannot be locked: " + errno_text(errno) + "; give another --disk-dir");
    if (!name.empty() && read_owner(fd_.get()) == name) {
      std::this_thread::sleep_for(kDyingWrites);
      return;
    }
    if (std::chrono::steady_clock::now() >= until) refuse(folder, read_owner(fd_.get()));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // The lock alone does not tell: its owner may have taken the folder over without it.
  const std::string before = read_owner(fd_.get());
  if (before == name) return;
  if (!before.empty() && is_alive(before)) refuse(folder, before);
  // On a full disk this fails, and then nobody can take over: no more than that.
  (void)!ftruncate(fd_.get(), 0);
  (void)!pwrite(fd_.get(), name.data(), name.size(), 0);
}

}  // namespace winnow
