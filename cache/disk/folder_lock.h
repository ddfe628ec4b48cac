// One process at a time uses a folder. The lock goes with the process: a worker that was killed but has not
// quite died is waited for. Throws StartupError when the folder cannot be made or stays locked.
#pragma once

#include <chrono>
#include <string>

#include "cache/file_descriptor.h"

namespace winnow {

class FolderLock {
 public:
  FolderLock(const std::string& folder, std::chrono::milliseconds patience);

 private:
  FileDescriptor fd_;
};

}  // namespace winnow
