// An array over sample ids that costs memory only where it is used: pages are made when first written and
// freed when their last non-default entry is cleared. Reading an unset entry gives T{}. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace winnow {

template <typename T>
class PagedArray {
 public:
  T get(std::uint64_t index) const {
    const auto page = pages_.find(index / kPageEntries);
    return page == pages_.end() ? T{} : page->second->entries[index % kPageEntries];
  }

  void set(std::uint64_t index, const T& value) {
    const bool clears = value == T{};
    auto page = pages_.find(index / kPageEntries);
    if (page == pages_.end()) {
      if (clears) return;
      page = pages_.emplace(index / kPageEntries, std::make_unique<Page>()).first;
    }
    T& entry = page->second->entries[index % kPageEntries];
    const bool was_clear = entry == T{};
    entry = value;
    if (was_clear && !clears) ++page->second->used;
    if (!was_clear && clears && --page->second->used == 0) pages_.erase(page);
  }

  // Calls visit(index, entry) for every entry that is set, in no particular order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [number, page] : pages_) {
      for (std::size_t i = 0; i < kPageEntries; ++i) {
        if (!(page->entries[i] == T{})) visit(number * kPageEntries + i, page->entries[i]);
      }
    }
  }

 private:
  static constexpr std::size_t kPageEntries = 1024;
  struct Page {
    std::array<T, kPageEntries> entries{};
    std::size_t used = 0;
  };
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace winnow
