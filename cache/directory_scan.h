// Lists a directory tree with several threads, since on network storage each stat is a round trip.
#pragma once

#include <string>

#include "cache/listing.h"
#include "cache/result.h"
#include "cache/source.h"

namespace winnow {

struct DirectoryScan {
  std::string root;  // absolute and resolved
  int root_fd = -1;
  bool follow_symlinks = false;
  unsigned threads = 8;
};

// Fails only if the root itself cannot be listed, or the scan is cancelled; what is unreadable below is
// counted.
Result<Listing> scan_directory(const DirectoryScan& scan, ScanProgress& progress);

}  // namespace winnow
