// How much of a large file to fetch for one READ: the asked range at a new place, then, for whoever reads on
// from where the last window ended, twice as much each time. It begins and ends where the pieces of the tier
// beside us do, so that all of it can be kept there. Keeps a few bytes for each large file lately read.
// Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "cache/flight_table.h"

namespace winnow {

class ReadWindow {
 public:
  explicit ReadWindow(std::uint64_t max_bytes, std::uint64_t piece_bytes = 4096)
      : max_bytes_(max_bytes), piece_bytes_(piece_bytes) {}

  // A range that covers `asked` within a file of `file_size`, of whole pieces.
  Range next(SampleId id, Range asked, std::uint64_t file_size);

 private:
  struct Stream {
    std::uint64_t next_offset = 0;
    std::uint64_t bytes = 0;
  };
  static constexpr std::size_t kMaxStreams = 1024;
  static constexpr std::uint64_t kPage = 4096;

  const std::uint64_t max_bytes_;
  const std::uint64_t piece_bytes_;
  std::mutex mutex_;  // guards streams_
  std::unordered_map<std::uint64_t, Stream> streams_;
};

}  // namespace winnow
