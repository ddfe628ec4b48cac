// An array over sample ids that costs memory only where it is used: pages are made when first written and
// freed when their last non-default entry is cleared. Reading an unset entry gives T{}. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace winnow {

template <typename T>
class PagedArray {
 public:
  T get(std::uint64_t index) const {
    const std::uint64_t number = index / kPageEntries;
    if (number >= pages_.size() || !pages_[number]) return T{};
    return pages_[number]->entries[index % kPageEntries];
  }

  void set(std::uint64_t index, const T& value) {
    const std::uint64_t number = index / kPageEntries;
    const bool clears = value == T{};
    if (number >= pages_.size() || !pages_[number]) {
      if (clears) return;
      if (number >= pages_.size()) pages_.resize(number + 1);
      pages_[number] = std::make_unique<Page>();
    }
    Page& page = *pages_[number];
    T& entry = page.entries[index % kPageEntries];
    const bool was_clear = entry == T{};
    entry = value;
    if (was_clear && !clears) ++page.used;
    if (!was_clear && clears && --page.used == 0) pages_[number].reset();
  }

  // The first entry that is set at `index` or above.
  std::optional<std::uint64_t> next_set(std::uint64_t index) const {
    for (std::uint64_t number = index / kPageEntries; number < pages_.size(); ++number) {
      if (!pages_[number]) continue;
      const std::uint64_t first = number * kPageEntries;
      for (std::uint64_t i = std::max(index, first) - first; i < kPageEntries; ++i) {
        if (!(pages_[number]->entries[i] == T{})) return first + i;
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kPageEntries = 1024;
  struct Page {
    std::array<T, kPageEntries> entries{};
    std::size_t used = 0;
  };
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace winnow
