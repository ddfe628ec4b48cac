// What the disk tier holds: one Slot for each stored chunk, found by key and chunk, in about 90 bytes each.
// A slot's number stays the same while it lives and is reused afterwards. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/disk/extent_pool.h"
#include "cache/disk/slot_codec.h"
#include "policy/sample.h"

namespace winnow {

using SlotNumber = std::uint32_t;
inline constexpr SlotNumber kNoSlot = ~SlotNumber{0};

struct Slot {
  DiskKey key;
  std::uint32_t chunk = 0;
  std::uint32_t length = 0;
  Extents extents{};
  SampleId id{};                        // 0: not known which sample it is
  SlotNumber next_of_sample = kNoSlot;  // the tier's list of a sample's slots
  std::uint32_t generation = 0;         // the last adoption that found its file in the catalogue
  bool live = false;

  std::uint32_t units() const {
    std::uint32_t sum = 0;
    for (const Extent& extent : extents) sum += extent.units;
    return sum;
  }
};

class SlotTable {
 public:
  SlotNumber find(const DiskKey& key, std::uint32_t chunk) const;  // kNoSlot if there is none
  SlotNumber insert(const Slot& slot);                             // there is none of its key and chunk
  void erase(SlotNumber number);
  void reserve(std::size_t slots);

  Slot& operator[](SlotNumber number) { return slots_[number]; }
  const Slot& operator[](SlotNumber number) const { return slots_[number]; }
  SlotNumber end() const { return static_cast<SlotNumber>(slots_.size()); }  // all numbers are below it
  std::size_t size() const { return size_; }

 private:
  std::size_t place_of(const DiskKey& key, std::uint32_t chunk) const;
  void grow(std::size_t places);

  std::vector<Slot> slots_;
  std::vector<SlotNumber> unused_;
  std::vector<SlotNumber> places_ = std::vector<SlotNumber>(16, kNoSlot);  // open addressing, a power of two
  std::size_t size_ = 0;
};

}  // namespace winnow
