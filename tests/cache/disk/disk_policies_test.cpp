// The contract of the disk tier, over every eviction policy there is.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/cache/disk/disk_fixture.h"

namespace winnow {
namespace {

constexpr std::uint64_t kBudget = 8 << 20;

std::vector<std::string> eviction_policies() {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : registry()) {
    if (entry.eviction) names.push_back(entry.info.name);
  }
  return names;
}

class DiskPolicies : public testing::TestWithParam<std::string> {};

TEST_P(DiskPolicies, ChurnKeepsTheBudgetAndEveryByteRight) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget, GetParam()));
  std::mt19937 random(7);
  std::vector<FileRef> files;
  for (std::uint64_t id = 1; id <= 400; ++id) files.push_back(file_ref(id, 1 + random() % 130'000));
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const FileRef& file : files) {
      if (const auto bytes = tier.read(file)) {
        ASSERT_EQ(text_of(*bytes), text_of(content_of(file)));
      } else {
        tier.write(file, 0, content_of(file));
      }
      tier.touch(file.id);
      if (value(file.id) % 50 == 0) {
        tier.flush();
        ASSERT_LE(blocks_of(folder.path()), kBudget);
      }
    }
    tier.begin_epoch();
  }
  tier.flush();
  const DiskCounts counts = tier.counts();
  EXPECT_LE(counts.bytes_on_disk, kBudget);
  EXPECT_LE(counts.high_water_bytes, kBudget);
  EXPECT_EQ(counts.torn + counts.dropped_writes + counts.write_errors, 0u);
  EXPECT_GT(counts.bytes_stored, kBudget * 75 / 100) << "much of the budget lies idle";
  std::uint64_t bytes = 0, samples = 0;
  for (const FileRef& file : files) {
    if (!tier.contains(file)) continue;
    ASSERT_EQ(text_of(*tier.read(file)), text_of(content_of(file)));
    bytes += file.version.size;
    ++samples;
  }
  EXPECT_EQ(counts.bytes_stored, bytes);
  EXPECT_EQ(counts.samples, samples);
}

TEST_P(DiskPolicies, ALargeNewcomerAmongSmallSlotsCostsLittleMoreThanItsSize) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget, GetParam()));
  for (std::uint64_t id = 1; id <= 3'000; ++id) {
    tier.set_importance(SampleId{id}, static_cast<double>(id * 7919 % 3000) / 4000);
    tier.write(file_ref(id, 2'900), 0, content_of(file_ref(id, 2'900)));
    if (id % 100 == 0) tier.flush();
  }
  tier.flush();
  const DiskCounts before = tier.counts();
  store(tier, file_ref(9'000, disk_format::kChunkBytes));
  const DiskCounts after = tier.counts();
  if (!tier.contains(file_ref(9'000, disk_format::kChunkBytes))) {
    EXPECT_EQ(after.evictions, before.evictions) << "evicted for nobody";
    EXPECT_EQ(after.refused, before.refused + 1);
    EXPECT_EQ(after.samples, before.samples);
  } else {
    EXPECT_LT((after.evictions - before.evictions) * 3'072, 6 * disk_format::kChunkBytes);
  }
}

TEST_P(DiskPolicies, ARestartForgetsNothing) {
  const TemporaryFolder folder;
  std::vector<FileRef> files, held;
  for (std::uint64_t id = 1; id <= 300; ++id) files.push_back(file_ref(id, 1'000 + id * 300));
  {
    DiskTier tier(disk_options(folder.path(), kBudget, GetParam()));
    for (const FileRef& file : files) store(tier, file);
    for (const FileRef& file : files) {
      if (tier.contains(file)) held.push_back(file);
    }
  }
  DiskTier tier(disk_options(folder.path(), kBudget, GetParam()));
  adopt_all(tier, files);
  EXPECT_EQ(tier.counts().samples, held.size());
  for (const FileRef& file : held) ASSERT_EQ(text_of(*tier.read(file)), text_of(content_of(file)));
  EXPECT_EQ(tier.counts().torn, 0u);
  for (std::uint64_t id = 1'001; id <= 1'050; ++id) store(tier, file_ref(id, 90'000));
  EXPECT_LE(blocks_of(folder.path()), kBudget);
}

INSTANTIATE_TEST_SUITE_P(Every, DiskPolicies, testing::ValuesIn(eviction_policies()), [](const auto& policy) {
  std::string name = policy.param;
  std::erase_if(name, [](char c) { return !isalnum(c); });
  return name;
});

TEST(DiskEviction, TheLeastRecentlyReadLeaves) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  for (std::uint64_t id = 1; id <= 70; ++id) store(tier, file_ref(id, 100'000));
  EXPECT_EQ(tier.counts().evictions, 0u);
  tier.touch(SampleId{1});
  for (std::uint64_t id = 100; id < 120; ++id) store(tier, file_ref(id, 100'000));
  EXPECT_TRUE(tier.contains(file_ref(1, 100'000)));
  EXPECT_FALSE(tier.contains(file_ref(2, 100'000)));
  EXPECT_GT(tier.counts().evictions, 5u);
}

TEST(DiskEviction, TheOrderOfStoringIsTheOrderOfLeavingAfterARestart) {
  const TemporaryFolder folder;
  std::vector<FileRef> files;
  for (std::uint64_t id = 1; id <= 70; ++id) files.push_back(file_ref(71 - id, 100'000));
  {
    DiskTier tier(disk_options(folder.path(), kBudget));
    for (const FileRef& file : files) store(tier, file);
  }
  DiskTier tier(disk_options(folder.path(), kBudget));
  adopt_all(tier, {files.rbegin(), files.rend()});
  for (std::uint64_t id = 100; id < 120; ++id) store(tier, file_ref(id, 100'000));
  EXPECT_FALSE(tier.contains(files.front()));
  EXPECT_TRUE(tier.contains(files.back()));
}

TEST(DiskEviction, TheMoreImportantStay) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget, "importance"));
  for (std::uint64_t id = 1; id <= 200; ++id)
    tier.set_importance(SampleId{id}, static_cast<double>(id % 10) / 10);
  for (std::uint64_t id = 1; id <= 200; ++id) store(tier, file_ref(id, 100'000));
  for (std::uint64_t id = 1; id <= 200; ++id) {
    const bool held = tier.contains(file_ref(id, 100'000));
    EXPECT_TRUE(held || id % 10 < 7) << id;
    EXPECT_TRUE(!held || id % 10 > 4) << id;
  }
  EXPECT_GT(tier.counts().refused, 0u);
}

TEST(DiskEviction, WithNoneWhatDoesNotFitIsRefused) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget, "none"));
  for (std::uint64_t id = 1; id <= 100; ++id) store(tier, file_ref(id, 100'000));
  EXPECT_EQ(tier.counts().evictions, 0u);
  EXPECT_TRUE(tier.contains(file_ref(1, 100'000)));
  EXPECT_FALSE(tier.contains(file_ref(100, 100'000)));
  EXPECT_EQ(tier.counts().refused + tier.counts().samples, 100u);
}

TEST(DiskEviction, ASampleOfSeveralChunksLeavesOnce) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  store(tier, file_ref(1, 2'100'000));
  for (std::uint64_t id = 2; id <= 9; ++id) store(tier, file_ref(id, 1'000'000));
  EXPECT_EQ(tier.stored_bytes(SampleId{1}), 0u);
  EXPECT_EQ(tier.counts().samples + tier.counts().evictions, 9u);
}

TEST(DiskEviction, AFileLargerThanTheBudgetKeepsItsBeginning) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  const FileRef file = file_ref(1, 12 << 20);
  const Bytes content = content_of(file);
  for (std::uint64_t at = 0; at < file.version.size; at += disk_format::kChunkBytes) {
    tier.write(file, at, content.part(at, disk_format::kChunkBytes));
    tier.flush();
  }
  EXPECT_TRUE(tier.read(file, 0, 5 << 20));
  EXPECT_FALSE(tier.contains(file));
  EXPECT_LE(blocks_of(folder.path()), kBudget);
}

}  // namespace
}  // namespace winnow
