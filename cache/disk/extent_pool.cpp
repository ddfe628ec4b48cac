#include "cache/disk/extent_pool.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace winnow {

void ExtentPool::insert(std::uint32_t first, std::uint32_t units) {
  by_place_.emplace(first, units);
  by_size_.emplace(units, first);
  free_units_ += units;
}

void ExtentPool::erase(std::map<std::uint32_t, std::uint32_t>::iterator hole) {
  free_units_ -= hole->second;
  by_size_.erase({hole->second, hole->first});
  by_place_.erase(hole);
}

void ExtentPool::add(std::uint32_t first, std::uint32_t units) {
  if (units == 0) return;
  auto next = by_place_.lower_bound(first);
  if (next != by_place_.end() && next->first == first + units && next->first % slab_units_ != 0) {
    units += next->second;
    erase(next++);
  }
  if (first % slab_units_ != 0 && next != by_place_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == first) {
      first = before->first;
      units += before->second;
      erase(before);
    }
  }
  insert(first, units);
}

void ExtentPool::give(const Extents& extents) {
  for (const Extent& extent : extents) add(extent.first, extent.units);
}

bool ExtentPool::can_take(std::uint32_t units) const {
  std::uint64_t found = 0;
  auto hole = by_size_.rbegin();
  for (std::size_t i = 0; i < disk_format::kMaxFragments && hole != by_size_.rend(); ++i, ++hole) {
    found += hole->first;
  }
  return found >= units;
}

Region ExtentPool::largest() const {
  if (by_size_.empty()) return {};
  return {by_size_.rbegin()->second, by_size_.rbegin()->first};
}

std::optional<Extents> ExtentPool::take(std::uint32_t units) {
  if (!can_take(units)) return std::nullopt;
  Extents taken{};
  for (Extent& extent : taken) {
    if (units == 0) break;
    auto hole = by_size_.lower_bound({units, 0});
    if (hole == by_size_.end()) hole = std::prev(by_size_.end());
    extent = {hole->second, static_cast<std::uint16_t>(std::min(units, hole->first))};
    units -= extent.units;
    take_at(extent.first, extent.units);
  }
  return taken;
}

void ExtentPool::take_back(const Extents& extents) {
  for (const Extent& extent : extents) {
    if (extent.units > 0) take_at(extent.first, extent.units);
  }
}

void ExtentPool::take_at(std::uint32_t first, std::uint32_t units) {
  auto hole = by_place_.upper_bound(first);
  if (hole == by_place_.begin()) throw std::logic_error("an extent was taken that is not free");
  --hole;
  const auto [hole_first, hole_units] = *hole;
  if (hole_first + hole_units < first + units) throw std::logic_error("an extent was taken that is not free");
  erase(hole);
  if (hole_first < first) insert(hole_first, first - hole_first);
  if (first + units < hole_first + hole_units) insert(first + units, hole_first + hole_units - first - units);
}

}  // namespace winnow
