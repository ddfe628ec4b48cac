#include "cache/disk/disk_ledger.h"

#include <gtest/gtest.h>

#include <random>

#include "policy/registry.h"

namespace winnow {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// A ledger whose whole budget has been given to slabs, as far as the index leaves it.
struct FullLedger {
  DiskLedger ledger;
  FullLedger(std::uint64_t bytes, std::uint32_t unit, const std::string& policy)
      : ledger({make_eviction(policy, ""), make_admission(policy)},
               {.unit_bytes = unit, .slab_bytes = 64 * kMiB}, bytes) {}

  // Slabs grow as the tier lets them, a little at a time.
  void grow(std::uint32_t unit) {
    if (ledger.largest_hole_bytes() >= 2 * kMiB) return;
    const std::uint64_t left_in_slab = 64 * kMiB - ledger.slab_bytes() % (64 * kMiB);
    const std::uint64_t step = std::min({ledger.room_to_grow(), 4 * kMiB, left_in_slab}) / unit;
    ledger.add_space(
        {static_cast<std::uint32_t>(ledger.slab_bytes() / unit), static_cast<std::uint32_t>(step)});
  }
};

// The share of the budget that holds bytes of samples, after the cache was turned over several times.
double share_used(std::uint32_t unit, std::uint32_t smallest, std::uint32_t largest,
                  const std::string& policy) {
  const std::uint64_t budget = 128 * kMiB;
  FullLedger full(budget, unit, policy);
  std::mt19937_64 random(3);
  double lowest = 1;
  std::uint64_t written = 0;
  for (std::uint64_t id = 1; written < 3 * budget; ++id) {
    const auto length = static_cast<std::uint32_t>(smallest + random() % (largest - smallest + 1));
    full.grow(unit);
    const auto extents = full.ledger.make_room(SampleId{id}, length);
    if (!extents) break;
    full.ledger.put(SampleId{id}, {.key = {random(), random()}, .length = length, .extents = *extents});
    full.ledger.touch(SampleId{1 + random() % id});
    full.ledger.take_records();
    written += length;
    if (written > 2 * budget && id % 100 == 0) {
      lowest =
          std::min(lowest, static_cast<double>(full.ledger.stored_bytes()) / static_cast<double>(budget));
    }
  }
  return lowest;
}

TEST(DiskSpace, ASlotIsAtMostAThirtiethLargerThanWhatItHolds) {
  for (std::uint32_t length = 16 << 10; length <= disk_format::kChunkBytes; length += 101) {
    const double slot = slot_units(length, 512) * 512.0;
    ASSERT_LE(slot / (length + sizeof(disk_format::SlotHeader)), 1 + 1.0 / 30) << length;
    ASSERT_LE(slot / length, 1.04) << length;
  }
}

TEST(DiskSpace, LittleIsLostToSlotsIndexAndHoles) {
  struct Case {
    std::uint32_t smallest, largest;
    double least;
  };
  for (const Case& sizes : {Case{16'385, 16'385, 0.95}, Case{20'000, 110'000, 0.97},
                            Case{100'000, 1'000'000, 0.97}, Case{2'000, 6'000, 0.87}}) {
    for (const char* policy : {"lru", "2-random"}) {
      for (const std::uint32_t unit : {512u, 4096u}) {
        const double share = share_used(unit, sizes.smallest, sizes.largest, policy);
        printf("%7u to %7u bytes, units of %4u, %-8s: %.1f %% of the budget are samples' bytes\n",
               sizes.smallest, sizes.largest, unit, policy, 100 * share);
        EXPECT_TRUE(unit != 512 || share > sizes.least) << share;
      }
    }
  }
}

// Slots of this length, one after another, and then every second one gone: holes that no larger one fits.
void store_and_leave_holes(DiskLedger& ledger, std::uint64_t count, std::uint32_t length) {
  for (std::uint64_t id = 1; id <= count; ++id) {
    const auto extents = ledger.make_room(SampleId{id}, length);
    ASSERT_TRUE(extents) << id;
    ledger.put(SampleId{id}, {.key = {id, id}, .length = length, .extents = *extents});
  }
  for (std::uint64_t id = 1; id <= count; id += 2) ASSERT_TRUE(ledger.remove({id, id}, 0));
}

TEST(DiskLedger, WhatLiesInAsManyPiecesAsThereMayBeIsFoundAgain) {
  constexpr std::uint32_t kSmall = 20'000;
  constexpr auto kLarge = static_cast<std::uint32_t>(disk_format::kMaxFragments * kSmall - 2'000);
  const auto make = [] {
    return DiskLedger({make_eviction("lru", ""), make_admission("lru")}, {.unit_bytes = 512, .slab_bytes = 64 * kMiB},
                      16 * kMiB);
  };
  DiskLedger ledger = make();
  ledger.add_space({0, 20 * slot_units(kSmall, 512)});
  store_and_leave_holes(ledger, 20, kSmall);
  const auto extents = ledger.make_room(SampleId{99}, kLarge);
  ASSERT_TRUE(extents);
  EXPECT_NE(extents->back().units, 0) << "all the pieces there may be were needed";
  ledger.put(SampleId{99}, {.key = {99, 99}, .length = kLarge, .extents = *extents});
  DiskLedger next = make();
  for (const disk_format::IndexRecord& record : ledger.take_records()) EXPECT_TRUE(next.replay(record));
  const auto found = next.find({99, 99}, 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->extents, *extents);
}

// As in a sweep, which begins with the small ones in every epoch: slabs leave room for the records that these need.
TEST(DiskLedger, AsManySmallSlotsAsThereWereFindRoomAgainAfterLargeOnes) {
  constexpr std::uint32_t kSmall = 20'000, kLarge = 200'000;
  FullLedger full(64 * kMiB, 512, "lru");
  std::vector<std::uint64_t> files(slot_units(kLarge, 512) + 1);
  files[slot_units(kSmall, 512)] = files[slot_units(kLarge, 512)] = 10'000;
  full.ledger.expect(files);
  const auto turn_over = [&](std::uint64_t from, std::uint32_t length) {
    for (std::uint64_t id = from; id < from + 128 * kMiB / length; ++id) {
      full.grow(512);
      const auto extents = full.ledger.make_room(SampleId{id}, length);
      EXPECT_TRUE(extents) << id;
      if (!extents) return;
      full.ledger.put(SampleId{id}, {.key = {id, id}, .length = length, .extents = *extents});
      full.ledger.take_records();
    }
  };
  turn_over(1'000, kLarge);
  turn_over(2'000, kSmall);
  const std::uint64_t slots = full.ledger.slots();
  turn_over(100'000, kLarge);
  EXPECT_LT(full.ledger.slots(), slots / 5);
  turn_over(200'000, kSmall);
  EXPECT_GE(full.ledger.slots(), slots - slots / 50);
}

// A newcomer whose own sample comes up as the next to leave is refused; who would have left for it stays.
TEST(DiskLedger, WhoStaysAfterARefusalLeavesInTheOldOrder) {
  constexpr std::uint32_t kLength = 200'000;
  DiskLedger ledger({make_eviction("lru", ""), make_admission("lru")}, {.unit_bytes = 512, .slab_bytes = 64 * kMiB},
                    16 * kMiB);
  ledger.add_space({0, 3 * slot_units(kLength, 512)});
  const auto store = [&](std::uint64_t id) {
    const auto extents = ledger.make_room(SampleId{id}, kLength);
    ASSERT_TRUE(extents);
    ledger.put(SampleId{id}, {.key = {id, id}, .length = kLength, .extents = *extents});
  };
  for (const std::uint64_t id : {1, 2, 3}) store(id);
  EXPECT_FALSE(ledger.make_room(SampleId{3}, static_cast<std::uint32_t>(kMiB)));
  for (const std::uint64_t id : {1, 2, 3}) EXPECT_EQ(ledger.bytes(SampleId{id}), kLength);
  store(4);
  store(5);
  EXPECT_EQ(ledger.bytes(SampleId{1}), 0u) << "it was to leave before the second";
  EXPECT_EQ(ledger.bytes(SampleId{2}), kLength);
}

}  // namespace
}  // namespace winnow
