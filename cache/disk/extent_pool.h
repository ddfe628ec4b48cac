// The free space of the slabs, as extents of whole units. Neighbours are joined, except across a slab's end.
// Takes the smallest hole that fits; if none does, up to a few of the largest together. Holds memory only for
// holes. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "cache/disk/disk_format.h"

namespace winnow {

struct Region {
  std::uint32_t first = 0;
  std::uint32_t units = 0;
};

struct Extent {
  std::uint32_t first = 0;
  std::uint16_t units = 0;  // 0: no extent
  std::uint32_t end() const { return first + units; }
  bool operator==(const Extent&) const = default;
};

using Extents = std::array<Extent, disk_format::kMaxFragments>;

class ExtentPool {
 public:
  explicit ExtentPool(std::uint32_t slab_units) : slab_units_(slab_units) {}

  void add(std::uint32_t first, std::uint32_t units);  // new space, or space let go; must not be free already
  void give(const Extents& extents);
  bool can_take(std::uint32_t units) const;
  std::optional<Extents> take(std::uint32_t units);
  void take_back(const Extents& extents);  // exactly these, which are free
  void remove(std::uint32_t first, std::uint32_t units) { take_at(first, units); }  // free space that is no more

  std::uint64_t free_units() const { return free_units_; }
  std::size_t holes() const { return by_place_.size(); }
  Region largest() const;  // hole; none if all is taken
  std::uint32_t slab_units() const { return slab_units_; }

 private:
  void insert(std::uint32_t first, std::uint32_t units);
  void erase(std::map<std::uint32_t, std::uint32_t>::iterator hole);
  void take_at(std::uint32_t first, std::uint32_t units);

  const std::uint32_t slab_units_;
  std::map<std::uint32_t, std::uint32_t> by_place_;            // first, units
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_size_;  // units, first
  std::uint64_t free_units_ = 0;
};

}  // namespace winnow
