// Where the data set really is. Every call may block for as long as the storage does; all are thread-safe.
// Paths are relative to the source's root, without a leading slash; "" is the root.
// read() gives bytes of exactly the version asked for, or ESTALE: never a mixture, never another file's.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "cache/bytes.h"
#include "cache/file_stat.h"
#include "cache/listing.h"
#include "cache/result.h"

namespace winnow {

// Shared with whoever watches a scan; `cancelled` ends it early with ECANCELED.
struct ScanProgress {
  std::atomic<std::uint64_t> entries{0};
  std::atomic<bool> cancelled{false};
  std::string failed_at;  // where the scan failed, once list() has returned an error
};

class Source {
 public:
  virtual ~Source() = default;
  virtual std::string identity() const = 0;  // names this source in the state directory
  // All or nothing: a folder that cannot be listed for any reason but permission fails the whole scan, so
  // that a hiccup of the storage never looks like files removed.
  virtual Result<Listing> list(ScanProgress& progress) = 0;
  virtual Result<FileStat> stat(const std::string& path) = 0;
  virtual Result<Bytes> read(const std::string& path, const Version& version, std::uint64_t offset,
                             std::size_t size) = 0;
};

}  // namespace winnow
