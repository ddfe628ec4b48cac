#include "cache/disk/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "cache/result.h"

namespace winnow {

FolderLock::FolderLock(const std::string& folder, std::chrono::milliseconds patience) {
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
      throw StartupError("disk tier " + folder + " cannot be locked: " + errno_text(errno));
    if (std::chrono::steady_clock::now() >= until) {
      throw StartupError("disk tier " + folder +
                         " is in use by another winnow; unmount that one or give another --disk-dir");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace winnow
