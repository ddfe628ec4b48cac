// What the ledger makes of an index it has read: nothing in it is believed that the slabs do not bear out.
#include <algorithm>

#include "cache/disk/disk_ledger.h"

namespace winnow {

using disk_format::IndexRecord;
using disk_format::RecordKind;

bool DiskLedger::replay(const IndexRecord& record) {
  const DiskKey key{record.key_low, record.key_high};
  const SlotNumber known = table_.find(key, record.chunk);
  if (record.kind == RecordKind::kRemove) {
    if (known != kNoSlot) table_.erase(known);
    return true;
  }
  Slot slot{.key = key, .chunk = record.chunk, .length = record.length, .generation = ++generation_};
  const std::uint32_t slab_units = pool_.slab_units();
  for (std::size_t i = 0; i < record.first.size(); ++i) slot.extents[i] = {record.first[i], record.units[i]};
  slot.extents.back() = {record.last_first, record.last_units};
  for (const Extent& extent : slot.extents) {
    if (std::uint64_t{extent.first % slab_units} + extent.units > slab_units) return false;
  }
  if (record.kind != RecordKind::kPut || slot.length == 0 || slot.length > disk_format::kChunkBytes ||
      slot.units() != slot_units(slot.length, geometry_.unit_bytes)) {
    return false;
  }
  if (known != kNoSlot) table_.erase(known);
  table_.insert(slot);
  return true;
}

// The slots that lie within the slabs and that no later one overlaps, in the order they were stored.
std::vector<Slot> DiskLedger::survivors(const SlabFiles& slabs) const {
  std::vector<Slot> slots;
  for (SlotNumber number = 0; number < table_.end(); ++number) {
    const Slot& slot = table_[number];
    const bool within = std::all_of(slot.extents.begin(), slot.extents.end(), [&](const Extent& extent) {
      return extent.units == 0 || slabs.holds(extent);
    });
    if (slot.live && within) slots.push_back(slot);
  }
  std::sort(slots.begin(), slots.end(),
            [](const Slot& a, const Slot& b) { return a.generation < b.generation; });
  std::vector<std::pair<Extent, std::uint32_t>> places;
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    for (const Extent& extent : slots[i].extents) {
      if (extent.units > 0) places.emplace_back(extent, i);
    }
  }
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
  const std::pair<Extent, std::uint32_t>* last =
      nullptr;  // the one that reaches farthest, of those that live
  for (const auto& place : places) {
    if (!slots[place.second].live) continue;
    if (last != nullptr && slots[last->second].live && place.first.first < last->first.end()) {
      const bool later = place.second > last->second;
      slots[later ? last->second : place.second].live = false;
      if (!later) continue;
    }
    last = &place;
  }
  std::erase_if(slots, [](const Slot& slot) { return !slot.live; });
  return slots;
}

std::uint64_t DiskLedger::settle(SlabFiles& slabs) {
  std::vector<Slot> slots = survivors(slabs);
  const std::uint64_t lost = table_.size() - slots.size();
  const auto bytes_up_to = [&](const Slot& slot) {
    std::uint64_t end = 0;
    for (const Extent& extent : slot.extents) {
      if (extent.units > 0) end = std::max<std::uint64_t>(end, extent.end());
    }
    return end * geometry_.unit_bytes;
  };
  if (slabs.bytes() + overhead_bytes(budget_bytes_, slots.size()) > budget_bytes_) {
    // The budget became smaller. No policy knows these samples yet: those that lie farthest back go.
    std::vector<std::uint64_t> ends;
    for (const Slot& slot : slots) ends.push_back(bytes_up_to(slot));
    std::sort(ends.begin(), ends.end());
    std::size_t kept = ends.size();
    while (kept > 0 && ends[kept - 1] + overhead_bytes(budget_bytes_, kept) > budget_bytes_) --kept;
    slabs.shrink(kept == 0 ? 0 : ends[kept - 1]);
    slots = survivors(slabs);
  }
  table_ = SlotTable{};
  table_.reserve(slots.size());
  std::vector<Extent> taken;
  for (Slot& slot : slots) {
    slot.generation = 0;
    table_.insert(slot);
    stored_bytes_ += slot.length;
    for (const Extent& extent : slot.extents) {
      if (extent.units > 0) taken.push_back(extent);
    }
  }
  generation_ = 0;
  slab_bytes_ = slabs.bytes();
  std::sort(taken.begin(), taken.end(), [](const Extent& a, const Extent& b) { return a.first < b.first; });
  auto next = taken.begin();
  for (const Region& region : slabs.regions()) {
    std::uint32_t at = region.first;
    for (; next != taken.end() && next->first < region.first + region.units; ++next) {
      pool_.add(at, next->first - at);
      at = next->end();
    }
    pool_.add(at, region.first + region.units - at);
  }
  return lost;
}

}  // namespace winnow
