// What was noticed of single files between two snapshots, so that their ids outlive a restart: one
// fixed-size, checksummed record a change, appended. A torn or foreign tail is ignored. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/file_descriptor.h"
#include "cache/file_stat.h"

namespace winnow {

// Row `row` of the snapshot is now node `id` with these facts; id 0: it is gone until the next refresh.
struct Amendment {
  std::uint32_t row = 0;
  std::uint64_t id = 0;
  FileStat stat;
};

class Journal {
 public:
  // Opens or makes the journal of `snapshot` and reads what it holds; another snapshot's is begun anew.
  // Throws StartupError if the file cannot be opened.
  Journal(const std::string& path, std::uint64_t snapshot);

  const std::vector<Amendment>& recovered() const { return recovered_; }
  void append(const Amendment& amendment);  // what cannot be written is lost with the process, no more

 private:
  void recover(std::uint64_t snapshot);

  FileDescriptor fd_;
  std::vector<Amendment> recovered_;
};

}  // namespace winnow
