// Where a newcomer goes, and who leaves for it.
#include <set>
#include <unordered_map>

#include "cache/disk/disk_ledger.h"

namespace winnow {

namespace {

// How much more than it needs may leave for a newcomer by the policy's order before neighbours are asked.
constexpr std::uint64_t kPatience = 4;

}  // namespace

// Which slot begins, or ends, at a unit.
struct DiskLedger::Neighbours {
  std::unordered_map<std::uint32_t, std::pair<DiskKey, std::uint32_t>> by_first;
  std::unordered_map<std::uint32_t, std::pair<DiskKey, std::uint32_t>> by_end;

  explicit Neighbours(const SlotTable& table) {
    for (SlotNumber number = 0; number < table.end(); ++number) {
      if (!table[number].live) continue;
      for (const Extent& extent : table[number].extents) {
        if (extent.units == 0) continue;
        by_first.emplace(extent.first, std::pair(table[number].key, table[number].chunk));
        by_end.emplace(extent.end(), std::pair(table[number].key, table[number].chunk));
      }
    }
  }

  // One that lies beside the hole, in the same slab; kNoSlot if none.
  SlotNumber beside(Region hole, const SlotTable& table, std::uint32_t slab_units) const {
    const std::uint32_t end = hole.first + hole.units;
    if (const auto next = by_first.find(end); end % slab_units != 0 && next != by_first.end()) {
      return table.find(next->second.first, next->second.second);
    }
    if (const auto before = by_end.find(hole.first); hole.first % slab_units != 0 && before != by_end.end()) {
      return table.find(before->second.first, before->second.second);
    }
    return kNoSlot;
  }
};

std::optional<Extents> DiskLedger::make_room(SampleId id, std::uint32_t length) {
  const std::uint32_t units = slot_units(length, geometry_.unit_bytes);
  std::vector<Slot> leaving;
  if (!has_room(units) && !clear_for(id, units, leaving)) {
    // Backwards, so that each sample's slots lie as they did; then the policy is told in the order it named them,
    // so that who was to leave before another still is.
    for (auto slot = leaving.rbegin(); slot != leaving.rend(); ++slot) attach(*slot);
    for (const Slot& slot : leaving) {
      if (!states_.get(value(slot.id)).ranked) rank(slot.id);
    }
    ++refused_;
    return std::nullopt;
  }
  std::set<SampleId> gone;  // several slots may have been one sample's
  for (const Slot& slot : leaving) {
    note(disk_format::RecordKind::kRemove, slot);
    if (states_.get(value(slot.id)).first == kNoSlot) gone.insert(slot.id);
  }
  evictions_ += gone.size();
  ++planned_;
  return pool_.take(units);
}

bool DiskLedger::clear_for(SampleId id, std::uint32_t units, std::vector<Slot>& leaving) {
  CachedFacts newcomer = facts_of(id);
  newcomer.bytes += std::uint64_t{units} * geometry_.unit_bytes;
  std::vector<CachedFacts> leaving_facts;
  std::optional<Neighbours> neighbours;
  std::uint64_t freed = 0;
  while (!has_room(units)) {
    SlotNumber number = kNoSlot;
    if (freed > kPatience * units) {
      if (!neighbours) neighbours.emplace(table_);
      number = neighbours->beside(pool_.largest(), table_, pool_.slab_units());
    }
    const bool beside = number != kNoSlot && table_[number].id != id && table_[number].id != SampleId{};
    if (!beside) {
      const auto victim = policies_.eviction->victim();
      if (!victim || *victim == id) return false;
      number = states_.get(value(*victim)).first;
    }
    if (leaving.empty() || leaving.back().id != table_[number].id) {
      leaving_facts.push_back(facts_of(table_[number].id));
      if (!policies_.admission->admits(newcomer, leaving_facts)) return false;
    }
    leaving.push_back(detach(number));
    leaving.back().next_of_sample = kNoSlot;
    freed += leaving.back().units();
  }
  return true;
}

}  // namespace winnow
