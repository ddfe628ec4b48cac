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

std::string read_owner(int fd) {
  char text[PATH_MAX];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
}

bool is_alive(const std::string& owner) {
  const FileDescriptor file(open(owner.c_str(), O_RDONLY | O_CLOEXEC));
  return file && flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

[[noreturn]] void refuse(const std::string& folder) {
  throw StartupError("disk tier " + folder +
                     " is in use by another winnow; unmount that one or give another --disk-dir");
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, const std::string& owner, std::chrono::milliseconds patience) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) fd_.reset(open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd_) {
    throw StartupError("disk tier " + folder + " cannot be written: " +
                       errno_text(error ? error.value() : errno) + "; mend that or give another --disk-dir");
  }
  const auto until = std::chrono::steady_clock::now() + patience;
  while (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK)
      throw StartupError("disk tier " + folder + " cannot be locked: " + errno_text(errno) + "; give another --disk-dir");
    if (!owner.empty() && read_owner(fd_.get()) == owner) return;
    if (std::chrono::steady_clock::now() >= until) refuse(folder);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // The lock alone does not tell: its owner may have taken the folder over without it.
  const std::string before = read_owner(fd_.get());
  if (!before.empty() && before != owner && is_alive(before)) refuse(folder);
  // On a full disk this fails, and then nobody can take over: no more than that.
  (void)!ftruncate(fd_.get(), 0);
  (void)!pwrite(fd_.get(), owner.data(), owner.size(), 0);
}

}  // namespace winnow
