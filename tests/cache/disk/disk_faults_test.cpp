// A disk that is full, fails, tears or flips: always a miss and a count, never wrong bytes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/cache/disk/disk_fixture.h"

namespace winnow {
namespace {

constexpr std::uint64_t kBudget = 8 << 20;

struct FaultyTier {
  TemporaryFolder folder;
  std::shared_ptr<FaultyIo::Faults> faults = std::make_shared<FaultyIo::Faults>();
  std::shared_ptr<std::atomic<std::int64_t>> seconds = std::make_shared<std::atomic<std::int64_t>>(0);
  std::unique_ptr<DiskTier> tier;

  const std::string policy;

  explicit FaultyTier(std::string which = "lru") : policy(std::move(which)) { start(); }
  void start() {
    tier.reset();
    DiskOptions options = disk_options(folder.path(), kBudget, policy);
    options.io = std::make_unique<FaultyIo>(faults);
    options.now = [clock = seconds] {
      return std::chrono::steady_clock::time_point(std::chrono::seconds(clock->load()));
    };
    tier = std::make_unique<DiskTier>(std::move(options));
  }
};

// Each way of failing: what sets it off and what the sentence says.
struct Failure {
  const char* name;
  std::atomic<int> FaultyIo::Faults::*fault;
  int error;
  const char* says;
};

class DiskWriteFailures : public testing::TestWithParam<Failure> {};

TEST_P(DiskWriteFailures, TurnWritingOffUntilItWorksAgainWhileReadsGoOn) {
  FaultyTier faulty;
  DiskTier& tier = *faulty.tier;
  store(tier, file_ref(1, 9'000));
  (*faulty.faults).*GetParam().fault = GetParam().error;
  store(tier, file_ref(2, 3'000'000));
  DiskCounts counts = tier.counts();
  EXPECT_FALSE(counts.writing);
  EXPECT_NE(counts.why_not_writing.find(GetParam().says), std::string::npos) << counts.why_not_writing;
  EXPECT_EQ(text_of(*tier.read(file_ref(1, 9'000))), text_of(content_of(file_ref(1, 9'000))));

  const std::uint64_t errors = counts.write_errors;
  for (std::uint64_t id = 10; id < 20; ++id) store(tier, file_ref(id, 9'000));
  EXPECT_EQ(tier.counts().write_errors, errors) << "tried although it was off";
  EXPECT_GE(tier.counts().dropped_writes, 10u);

  (*faulty.faults).*GetParam().fault = 0;
  store(tier, file_ref(3, 9'000));
  EXPECT_FALSE(tier.counts().writing) << "tried again too soon";
  EXPECT_FALSE(tier.counts().may_write);
  *faulty.seconds += 61;
  EXPECT_TRUE(tier.counts().may_write) << "whoever waits for the end of the outage would wait for ever";
  EXPECT_FALSE(tier.counts().writing);
  store(tier, file_ref(4, 9'000));
  EXPECT_TRUE(tier.counts().writing);
  EXPECT_NE(tier.counts().why_not_writing, "") << "one write does not end an outage";
  *faulty.seconds += 61;
  EXPECT_EQ(tier.counts().why_not_writing, "");
  EXPECT_EQ(text_of(*tier.read(file_ref(4, 9'000))), text_of(content_of(file_ref(4, 9'000))));
  EXPECT_LE(blocks_of(faulty.folder.path()), kBudget);

  faulty.start();
  EXPECT_TRUE(faulty.tier->read(file_ref(1, 9'000)));
  EXPECT_TRUE(faulty.tier->read(file_ref(4, 9'000)));
  EXPECT_EQ(faulty.tier->counts().torn, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Of, DiskWriteFailures,
    testing::Values(Failure{"FullDisk", &FaultyIo::Faults::write_error, ENOSPC, "No space left"},
                    Failure{"FailingDisk", &FaultyIo::Faults::write_error, EIO, "Input/output error"},
                    Failure{"NoRoomToGrow", &FaultyIo::Faults::allocate_error, ENOSPC, "growing"},
                    Failure{"FailingIndex", &FaultyIo::Faults::append_error, EIO, "writing the index"}),
    [](const auto& failure) { return failure.param.name; });

TEST(DiskFaults, AFailedRetryKeepsItOff) {
  FaultyTier faulty;
  faulty.faults->write_error = EIO;
  store(*faulty.tier, file_ref(1, 9'000));
  *faulty.seconds += 61;
  store(*faulty.tier, file_ref(2, 9'000));
  EXPECT_EQ(faulty.tier->counts().write_errors, 2u);
  store(*faulty.tier, file_ref(3, 9'000));
  EXPECT_EQ(faulty.tier->counts().write_errors, 2u);
}

TEST(DiskFaults, AShortWriteIsNotAWrite) {
  FaultyTier faulty;
  faulty.faults->short_write = true;
  store(*faulty.tier, file_ref(1, 90'000));
  EXPECT_FALSE(faulty.tier->read(file_ref(1, 90'000)));
  EXPECT_FALSE(faulty.tier->counts().writing);
  faulty.faults->short_write = false;
  faulty.start();
  EXPECT_FALSE(faulty.tier->read(file_ref(1, 90'000)));
  store(*faulty.tier, file_ref(1, 90'000));
  EXPECT_TRUE(faulty.tier->read(file_ref(1, 90'000)));
}

// As a nearly full disk does: what fits a hole is written, and then it fails to grow again.
TEST(DiskFaults, AnOutageIsOneUntilWritingHasGoneWellForAWhile) {
  FaultyTier faulty;
  DiskTier& tier = *faulty.tier;
  store(tier, file_ref(1, 9'000));
  faulty.faults->allocate_error = ENOSPC;
  store(tier, file_ref(2, 7'000'000));
  for (std::uint64_t minute = 0; minute < 3; ++minute) {
    *faulty.seconds += 61;
    store(tier, file_ref(10 + minute, 9'000));
    EXPECT_TRUE(tier.contains(file_ref(10 + minute, 9'000))) << "it fits a hole";
    EXPECT_TRUE(tier.counts().writing);
    *faulty.seconds += 30;
    EXPECT_NE(tier.counts().why_not_writing, "");
    store(tier, file_ref(20 + minute, 7'000'000));
    EXPECT_FALSE(tier.counts().writing);
    EXPECT_NE(tier.counts().why_not_writing, "");
  }
  faulty.faults->allocate_error = 0;
  *faulty.seconds += 61;
  store(tier, file_ref(30, 9'000));
  *faulty.seconds += 61;
  EXPECT_EQ(tier.counts().why_not_writing, "");
  EXPECT_TRUE(tier.counts().writing);
}

TEST(DiskFaults, ARetryOfWhichNothingIsWantedEndsAnOutageToo) {
  FaultyTier faulty("none");
  DiskTier& tier = *faulty.tier;
  for (std::uint64_t id = 1; tier.counts().refused == 0; ++id) store(tier, file_ref(id, 100'000));
  tier.remove(file_ref(1, 100'000));
  faulty.faults->write_error = EIO;
  store(tier, file_ref(1'000, 100'000));
  ASSERT_FALSE(tier.counts().writing);
  faulty.faults->write_error = 0;
  *faulty.seconds += 61;
  const std::uint64_t writes = tier.counts().writes;
  store(tier, file_ref(2'000, 1 << 20));
  EXPECT_EQ(tier.counts().writes, writes) << "it does not fit, and nobody leaves for it";
  *faulty.seconds += 61;
  EXPECT_EQ(tier.counts().why_not_writing, "");
}

TEST(DiskFaults, AReadErrorIsAMissAndTheSlotStaysUntilItFailsAgain) {
  FaultyTier faulty;
  const FileRef file = file_ref(1, 9'000);
  store(*faulty.tier, file);
  faulty.faults->read_error = EIO;
  EXPECT_FALSE(faulty.tier->read(file));
  EXPECT_EQ(faulty.tier->counts().read_errors, 1u);
  EXPECT_TRUE(faulty.tier->contains(file));
  faulty.faults->read_error = 0;
  EXPECT_TRUE(faulty.tier->read(file));
  faulty.faults->read_error = EIO;
  EXPECT_FALSE(faulty.tier->read(file));
  EXPECT_FALSE(faulty.tier->contains(file)) << "it would be held, and missed, for ever";
  faulty.faults->read_error = 0;
  store(*faulty.tier, file);
  EXPECT_TRUE(faulty.tier->read(file));
}

TEST(DiskFaults, OfSeveralChunksOnlyTheUnreadableIsLetGo) {
  FaultyTier faulty;
  const FileRef file = file_ref(1, 3 << 20);
  store(*faulty.tier, file);
  faulty.faults->bad_read_of = 1;  // the second megabyte or so of the first slab
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(faulty.tier->read(file));
  faulty.faults->bad_read_of = -1;
  EXPECT_EQ(faulty.tier->stored_bytes(file.id), 2u << 20);
  store(*faulty.tier, file);
  EXPECT_EQ(text_of(*faulty.tier->read(file)), text_of(content_of(file)));
}

TEST(DiskFaults, AFlippedBitIsAMissCountedAndLetGo) {
  FaultyTier faulty;
  store(*faulty.tier, file_ref(1, 9'000));
  faulty.faults->flip_reads = true;
  EXPECT_FALSE(faulty.tier->read(file_ref(1, 9'000)));
  faulty.faults->flip_reads = false;
  EXPECT_EQ(faulty.tier->counts().torn, 1u);
  EXPECT_FALSE(faulty.tier->contains(file_ref(1, 9'000)));
  store(*faulty.tier, file_ref(1, 9'000));
  EXPECT_TRUE(faulty.tier->read(file_ref(1, 9'000)));
}

TEST(DiskFaults, WhatIsRemovedWhileBeingWrittenDoesNotComeBack) {
  TemporaryFolder folder;
  auto faults = std::make_shared<FaultyIo::Faults>();
  DiskTier* running = nullptr;
  faults->before_write = [&] { running->remove(file_ref(1, 9'000)); };
  DiskOptions options = disk_options(folder.path(), kBudget);
  options.io = std::make_unique<FaultyIo>(faults);
  DiskTier tier(std::move(options));
  running = &tier;
  store(tier, file_ref(1, 9'000));
  EXPECT_FALSE(tier.contains(file_ref(1, 9'000)));
  store(tier, file_ref(2, 9'000));
  EXPECT_TRUE(tier.contains(file_ref(2, 9'000)));
}

std::vector<FileRef> filled(const std::string& folder, std::uint64_t count) {
  std::vector<FileRef> files;
  DiskTier tier(disk_options(folder, kBudget));
  for (std::uint64_t id = 1; id <= count; ++id) {
    files.push_back(file_ref(id, 500 + id * 301));
    tier.write(files.back(), 0, content_of(files.back()));
  }
  tier.flush();
  return files;
}

// Reads all there is; what is there is right.
std::uint64_t right_ones(DiskTier& tier, const std::vector<FileRef>& files) {
  std::uint64_t found = 0;
  for (const FileRef& file : files) {
    const auto bytes = tier.read(file);
    if (!bytes) continue;
    EXPECT_EQ(text_of(*bytes), text_of(content_of(file)));
    ++found;
  }
  return found;
}

TEST(DiskFaults, ATruncatedSlabLosesOnlyWhatWasCutOff) {
  TemporaryFolder folder;
  const auto files = filled(folder.path(), 150);
  const auto before = std::filesystem::file_size(folder / "slab-000000");
  std::filesystem::resize_file(folder / "slab-000000", 1'000'001);
  DiskTier tier(disk_options(folder.path(), kBudget));
  const std::uint64_t found = right_ones(tier, files);
  EXPECT_LT(found, 150u) << "of " << before;
  EXPECT_GT(found, 60u);
  EXPECT_EQ(tier.counts().torn, 150 - found) << "known at start, not by reading";
  for (const FileRef& file : files) tier.write(file, 0, content_of(file));
  tier.flush();
  EXPECT_EQ(right_ones(tier, files), 150u);
}

TEST(DiskFaults, AMissingSlabIsMadeAnew) {
  TemporaryFolder folder;
  auto files = filled(folder.path(), 150);
  std::filesystem::remove(folder / "slab-000000");
  DiskTier tier(disk_options(folder.path(), kBudget));
  EXPECT_EQ(right_ones(tier, files), 0u);
  for (const FileRef& file : files) tier.write(file, 0, content_of(file));
  tier.flush();
  EXPECT_EQ(right_ones(tier, files), 150u);
}

TEST(DiskFaults, ATruncatedIndexLosesOnlyItsEnd) {
  TemporaryFolder folder;
  const auto files = filled(folder.path(), 150);
  std::filesystem::resize_file(folder / "index", sizeof(disk_format::IndexHeader) + 100 * 64 + 13);
  DiskTier tier(disk_options(folder.path(), kBudget));
  EXPECT_EQ(right_ones(tier, files), 100u);
}

TEST(DiskFaults, AnIndexCutWithinItsHeadIsAnEmptyTier) {
  TemporaryFolder folder;
  const auto files = filled(folder.path(), 20);
  std::filesystem::resize_file(folder / "index", 100);
  DiskTier tier(disk_options(folder.path(), kBudget));
  EXPECT_EQ(right_ones(tier, files), 0u);
  EXPECT_EQ(tier.counts().bad_records, 1u);
  store(tier, files.front());
  EXPECT_EQ(right_ones(tier, files), 1u);
}

// Flips one bit in each of many places, one after another: whatever is then served is right.
TEST(DiskFaults, AFlippedBitAnywhereIsNeverServed) {
  TemporaryFolder folder;
  const auto files = filled(folder.path(), 40);
  for (const char* name : {"index", "slab-000000"}) {
    const std::string path = folder / name;
    const std::uint64_t begin = std::string(name) == "index" ? sizeof(disk_format::IndexHeader) : 0;
    const std::uint64_t size = std::string(name) == "index" ? std::filesystem::file_size(path) : 250'000;
    for (std::uint64_t at = begin; at < size; at += (size - begin) / 40 + 1) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const char old = static_cast<char>(file.get());
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(old ^ 16));
      file.close();
      DiskTier tier(disk_options(folder.path(), kBudget));
      const std::uint64_t found = right_ones(tier, files);
      EXPECT_EQ(found + tier.counts().torn + tier.counts().bad_records, 40u) << name << " at " << at;
      for (const FileRef& one : files) tier.write(one, 0, content_of(one));
      tier.flush();
      ASSERT_EQ(right_ones(tier, files), 40u);
    }
  }
}

}  // namespace
}  // namespace winnow
