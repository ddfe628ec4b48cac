// How many pages of each sample are in the page cache: a flat array over ids, costing memory only where it is
// used. Over a descriptor it is shared memory that outlives the process; without one it is private.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/sample.h"

namespace winnow {

class PageCounts {
 public:
  // Ids from here on are not kept: their pages go unaccounted.
  static constexpr std::uint64_t kMaxIds = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kBytes = kMaxIds * sizeof(std::uint32_t);

  PageCounts() : PageCounts(-1, 0) {}
  // `offset` bytes into the file, which is at least kBytes longer. Throws std::system_error.
  PageCounts(int fd, std::uint64_t offset);
  ~PageCounts();
  PageCounts(const PageCounts&) = delete;
  PageCounts& operator=(const PageCounts&) = delete;

  std::uint32_t get(SampleId id) const;
  void set(SampleId id, std::uint32_t pages);
  // The first sample with pages at `from` or above.
  std::optional<SampleId> next_set(SampleId from) const;

 private:
  std::uint32_t* counts_ = nullptr;  // [0], nobody's id, holds the highest id ever set
};

}  // namespace winnow
