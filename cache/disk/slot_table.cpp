#include "cache/disk/slot_table.h"

#include <bit>

namespace winnow {

std::size_t SlotTable::place_of(const DiskKey& key, std::uint32_t chunk) const {
  // The key is a hash already; the chunk is spread by an odd constant.
  return (key.low ^ (chunk * 0x9e3779b97f4a7c15u)) & (places_.size() - 1);
}

SlotNumber SlotTable::find(const DiskKey& key, std::uint32_t chunk) const {
  for (std::size_t at = place_of(key, chunk);; at = (at + 1) & (places_.size() - 1)) {
    const SlotNumber number = places_[at];
    if (number == kNoSlot || (slots_[number].key == key && slots_[number].chunk == chunk)) return number;
  }
}

SlotNumber SlotTable::insert(const Slot& slot) {
  if ((size_ + 1) * 4 > places_.size() * 3) grow(places_.size() * 2);
  SlotNumber number = end();
  if (unused_.empty()) {
    slots_.push_back(slot);
  } else {
    number = unused_.back();
    unused_.pop_back();
    slots_[number] = slot;
  }
  slots_[number].live = true;
  ++size_;
  std::size_t at = place_of(slot.key, slot.chunk);
  while (places_[at] != kNoSlot) at = (at + 1) & (places_.size() - 1);
  places_[at] = number;
  return number;
}

void SlotTable::erase(SlotNumber number) {
  const std::size_t mask = places_.size() - 1;
  std::size_t hole = place_of(slots_[number].key, slots_[number].chunk);
  while (places_[hole] != number) hole = (hole + 1) & mask;
  // Whoever was pushed past the hole moves back into it, so that no search ends too early.
  for (std::size_t at = (hole + 1) & mask; places_[at] != kNoSlot; at = (at + 1) & mask) {
    const std::size_t home = place_of(slots_[places_[at]].key, slots_[places_[at]].chunk);
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    places_[hole] = places_[at];
    hole = at;
  }
  places_[hole] = kNoSlot;
  slots_[number] = Slot{};
  unused_.push_back(number);
  --size_;
}

void SlotTable::reserve(std::size_t slots) {
  slots_.reserve(slots);
  const std::size_t places = std::bit_ceil(slots * 4 / 3 + 2);
  if (places > places_.size()) grow(places);
}

void SlotTable::grow(std::size_t places) {
  places_.assign(places, kNoSlot);
  for (SlotNumber number = 0; number < end(); ++number) {
    if (!slots_[number].live) continue;
    std::size_t at = place_of(slots_[number].key, slots_[number].chunk);
    while (places_[at] != kNoSlot) at = (at + 1) & (places_.size() - 1);
    places_[at] = number;
  }
}

}  // namespace winnow
