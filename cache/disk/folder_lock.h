// One owner at a time uses a folder. An owner is named by a file that it keeps locked while it lives (flock), and may
// come again while the process that held the folder before is killed but cannot die, as one that waits in the kernel:
// then it takes the folder over. Throws StartupError when the folder cannot be made or stays another's.
#pragma once

#include <chrono>
#include <string>

#include "cache/file_descriptor.h"

namespace winnow {

class FolderLock {
 public:
  // `owner` may be empty: then the process is, and nobody succeeds it.
  FolderLock(const std::string& folder, const std::string& owner, std::chrono::milliseconds patience);

 private:
  FileDescriptor fd_;
};

}  // namespace winnow
