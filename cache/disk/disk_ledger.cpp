#include "cache/disk/disk_ledger.h"

#include <algorithm>

namespace winnow {

using disk_format::IndexRecord;
using disk_format::RecordKind;

namespace {

constexpr std::uint64_t kMinSlot = 512;

}  // namespace

DiskLedger::DiskLedger(Policies policies, IndexFile::Geometry geometry, std::uint64_t budget_bytes)
    : policies_(std::move(policies)),
      geometry_(geometry),
      budget_bytes_(budget_bytes),
      pool_(static_cast<std::uint32_t>(geometry.slab_bytes / geometry.unit_bytes)) {}

std::uint64_t DiskLedger::overhead_bytes(std::uint64_t budget_bytes, std::uint64_t slots) {
  constexpr std::uint64_t kFixed = 96 << 10;  // lock, headers, what rounding up to blocks costs
  return kFixed + budget_bytes / 512 + (most_records(slots) + slots) * sizeof(IndexRecord);
}

void DiskLedger::add_space(Region region) {
  pool_.add(region.first, region.units);
  slab_bytes_ += std::uint64_t{region.units} * geometry_.unit_bytes;
}

void DiskLedger::expect(std::span<const std::uint64_t> by_units) {
  const std::uint64_t bytes = budget_bytes_ - std::min(budget_bytes_, overhead_bytes(budget_bytes_, 0));
  std::uint64_t taken = 0;
  most_slots_ = 0;
  for (std::size_t units = 1; units < by_units.size(); ++units) {
    const std::uint64_t each = units * geometry_.unit_bytes + kRecordBytesPerSlot;
    const std::uint64_t fit = std::min(by_units[units], (bytes - taken) / each);
    most_slots_ += fit;
    taken += fit * each;
  }
}

std::uint64_t DiskLedger::excess_bytes() const {
  const std::uint64_t used =
      slab_bytes_ + overhead_bytes(budget_bytes_, std::max<std::uint64_t>(most_slots_, table_.size()));
  return used - std::min(used, budget_bytes_);
}

std::uint64_t DiskLedger::cut_space(std::uint64_t bytes) {
  const auto end = static_cast<std::uint32_t>(slab_bytes_ / geometry_.unit_bytes);
  const std::uint32_t in_last = (end - 1) % pool_.slab_units() + 1;
  const std::uint64_t wanted = (bytes + geometry_.unit_bytes - 1) / geometry_.unit_bytes;
  const std::uint64_t units = std::min<std::uint64_t>(wanted, in_last - 1);
  const auto cut_at = static_cast<std::uint32_t>(end - units);
  for (SlotNumber number = 0; number < table_.end(); ++number) {
    const Extents& extents = table_[number].extents;
    const bool goes = std::any_of(extents.begin(), extents.end(),
                                  [&](const Extent& extent) { return extent.units > 0 && extent.end() > cut_at; });
    if (table_[number].live && goes) drop(number);
  }
  if (units > 0) pool_.remove(cut_at, static_cast<std::uint32_t>(units));
  slab_bytes_ -= units * geometry_.unit_bytes;
  return slab_bytes_;
}

// Slots as large as those there are will fill what is free and what is new, and need records; so may smaller ones, if
// there are such files.
std::uint64_t DiskLedger::room_to_grow() const {
  constexpr std::uint64_t kInFlight = 64, kTypicalSlot = 64 << 10;
  const std::uint64_t free = free_bytes();
  const std::uint64_t slot = table_.size() > 0 ? (slab_bytes_ - free) / table_.size() : kTypicalSlot;
  const std::uint64_t to_come = free / std::max(slot, kMinSlot);
  const std::uint64_t slots = std::max(most_slots_, table_.size() + to_come) + kInFlight;
  const std::uint64_t used = slab_bytes_ + overhead_bytes(budget_bytes_, slots);
  if (used >= budget_bytes_) return 0;
  const double records = static_cast<double>(kRecordBytesPerSlot) / static_cast<double>(std::max(slot, kMinSlot));
  return static_cast<std::uint64_t>(static_cast<double>(budget_bytes_ - used) / (1 + records));
}

bool DiskLedger::has_room(std::uint32_t units) const {
  return pool_.can_take(units) &&
         slab_bytes_ + overhead_bytes(budget_bytes_, table_.size() + planned_ + 1) <= budget_bytes_;
}

CachedFacts DiskLedger::facts_of(SampleId id) const {
  const SampleState state = states_.get(value(id));
  return {.bytes = state.bytes, .importance = state.importance, .read = state.read_in == epoch_};
}

void DiskLedger::link(SampleId id, SlotNumber number) {
  SampleState state = states_.get(value(id));
  if (state.first == kNoSlot) ++samples_;
  table_[number].id = id;
  table_[number].next_of_sample = state.first;
  state.first = number;
  state.bytes += table_[number].length;
  states_.set(value(id), state);
}

void DiskLedger::unlink(SlotNumber number) {
  Slot& slot = table_[number];
  if (slot.id == SampleId{}) return;
  SampleState state = states_.get(value(slot.id));
  if (state.first == number) {
    state.first = slot.next_of_sample;
  } else {
    SlotNumber before = state.first;
    while (table_[before].next_of_sample != number) before = table_[before].next_of_sample;
    table_[before].next_of_sample = slot.next_of_sample;
  }
  state.bytes -= slot.length;
  if (state.first == kNoSlot) {
    --samples_;
    if (state.ranked) policies_.eviction->on_remove(slot.id);
    state.ranked = false;
  }
  states_.set(value(slot.id), state);
  slot.id = SampleId{};
  slot.next_of_sample = kNoSlot;
}

void DiskLedger::rank(SampleId id) {
  SampleState state = states_.get(value(id));
  state.ranked = true;
  states_.set(value(id), state);
  policies_.eviction->on_insert(id, facts_of(id));
}

Slot DiskLedger::detach(SlotNumber number) {
  const Slot slot = table_[number];
  unlink(number);
  table_.erase(number);
  pool_.give(slot.extents);
  stored_bytes_ -= slot.length;
  return slot;
}

void DiskLedger::attach(const Slot& slot) {
  pool_.take_back(slot.extents);
  Slot unbound = slot;
  unbound.id = SampleId{};
  const SlotNumber number = table_.insert(unbound);
  stored_bytes_ += slot.length;
  link(slot.id, number);
}

void DiskLedger::note(RecordKind kind, const Slot& slot) {
  IndexRecord record{.key_low = slot.key.low,
                     .key_high = slot.key.high,
                     .chunk = slot.chunk,
                     .length = slot.length,
                     .first = {},
                     .units = {},
                     .kind = kind,
                     .last_units = slot.extents.back().units,
                     .last_first = slot.extents.back().first};
  for (std::size_t i = 0; i < record.first.size(); ++i) {
    record.first[i] = slot.extents[i].first;
    record.units[i] = slot.extents[i].units;
  }
  pending_.push_back(record);
}

void DiskLedger::drop(SlotNumber number) { note(RecordKind::kRemove, detach(number)); }

void DiskLedger::put(SampleId id, const Slot& slot) {
  --planned_;
  const SlotNumber first = states_.get(value(id)).first;
  if (first != kNoSlot && table_[first].key != slot.key) {  // an older version of the same sample
    while (states_.get(value(id)).first != kNoSlot) drop(states_.get(value(id)).first);
  }
  if (const SlotNumber old = table_.find(slot.key, slot.chunk); old != kNoSlot) drop(old);
  Slot fresh = slot;
  fresh.id = SampleId{};
  fresh.generation = generation_;
  const SlotNumber number = table_.insert(fresh);
  stored_bytes_ += slot.length;
  link(id, number);
  rank(id);
  note(RecordKind::kPut, slot);
}

void DiskLedger::give_up(const Extents& extents) {
  --planned_;
  pool_.give(extents);
}

std::optional<Slot> DiskLedger::find(const DiskKey& key, std::uint32_t chunk) const {
  const SlotNumber number = table_.find(key, chunk);
  if (number == kNoSlot) return std::nullopt;
  return table_[number];
}

bool DiskLedger::remove(const DiskKey& key, std::uint32_t chunk) {
  const SlotNumber number = table_.find(key, chunk);
  if (number == kNoSlot) return false;
  drop(number);
  return true;
}

void DiskLedger::touch(SampleId id) {
  SampleState state = states_.get(value(id));
  state.read_in = epoch_;
  states_.set(value(id), state);
  policies_.eviction->on_hit(id);
}

void DiskLedger::set_importance(SampleId id, double importance) {
  SampleState state = states_.get(value(id));
  if (state.importance == importance) return;
  state.importance = importance;
  states_.set(value(id), state);
  if (state.ranked) rank(id);
}

void DiskLedger::begin_epoch() {
  ++epoch_;
  if (auto* by_epoch = dynamic_cast<EpochEviction*>(policies_.eviction.get())) by_epoch->begin_epoch();
}

void DiskLedger::bind(SampleId id, const DiskKey& key, std::uint32_t chunks) {
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    const SlotNumber number = table_.find(key, chunk);
    if (number == kNoSlot) continue;
    table_[number].generation = generation_;
    if (table_[number].id == id) continue;
    unlink(number);
    link(id, number);
  }
}

std::uint64_t DiskLedger::end_adoption() {
  std::uint64_t gone = 0;
  // In the order they were stored, so that the least recently stored sample is the least recently used.
  for (SlotNumber number = 0; number < table_.end(); ++number) {
    if (!table_[number].live) continue;
    const SampleId id = table_[number].id;
    if (table_[number].generation != generation_) {
      drop(number);
      ++gone;
    } else if (!states_.get(value(id)).ranked) {
      rank(id);
    }
  }
  return gone;
}

std::vector<IndexRecord> DiskLedger::take_records() { return std::exchange(pending_, {}); }

std::vector<IndexRecord> DiskLedger::live_records() {
  pending_.clear();
  pending_.reserve(table_.size());
  for (SlotNumber number = 0; number < table_.end(); ++number) {
    if (table_[number].live) note(RecordKind::kPut, table_[number]);
  }
  return take_records();
}

}  // namespace winnow
