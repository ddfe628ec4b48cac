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
