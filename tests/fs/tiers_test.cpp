#include "fs/tiers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <random>

#include "cache/directory_source.h"
#include "fs/state_dir.h"
#include "tests/cache/temporary_folder.h"
#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// A disk that writes nothing until it is let.
class HeldIo final : public BlockIo {
 public:
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = true;
    void open(bool now) {
      const std::lock_guard lock(mutex);
      is_open = now;
      changed.notify_all();
    }
  };
  explicit HeldIo(Gate& gate) : gate_(gate) {}
  Result<void> read(std::span<const IoPiece> pieces) override { return plain_->read(pieces); }
  Result<void> write(std::span<const IoPiece> pieces) override {
    std::unique_lock lock(gate_.mutex);
    gate_.changed.wait(lock, [this] { return gate_.is_open; });
    return plain_->write(pieces);
  }
  Result<void> append(int fd, std::uint64_t offset, std::span<const std::byte> bytes) override {
    return plain_->append(fd, offset, bytes);
  }
  Result<void> allocate(int fd, std::uint64_t from, std::uint64_t bytes) override {
    return plain_->allocate(fd, from, bytes);
  }

 private:
  Gate& gate_;
  std::unique_ptr<BlockIo> plain_ = plain_block_io();
};

struct TiersTest : testing::Test {
  void start(const std::string& policy, std::uint64_t disk_bytes) {
    take_snapshot(source, state, false, nullptr, progress);
    snapshots = std::make_unique<Snapshots>(source, state, false, state.open_tree());
    MountOptions options;
    options.policy = policy;
    options.disk_bytes = disk_bytes;
    options.disk_dir = disk_folder.path();
    options.page_cache = false;
    tiers = std::make_unique<Tiers>(options, source.identity(), *snapshots, true, std::make_unique<HeldIo>(gate));
    tiers->adopt();
  }
  void TearDown() override { gate.open(true); }
  static FileRef file(std::uint64_t id) { return {SampleId{id}, "f" + std::to_string(id), Version{.size = kMiB}}; }
  void write(std::uint64_t id) {
    const std::shared_ptr<std::byte[]> bytes(new std::byte[kMiB]());
    tiers->disk()->write(file(id), 0, Bytes(bytes, kMiB));
  }
  void read(std::uint64_t id) {  // as a reader's fetch does
    tiers->disk()->touch(SampleId{id});
    write(id);
    tiers->disk()->flush();
  }
  bool holds(std::uint64_t id) const { return tiers->holds(SampleId{id}, kMiB); }

  // A sweep's life on a full disk: what waits fills the window, each read makes room, demand's fetches come in between.
  void turn_over(std::uint64_t smallest, std::uint64_t largest) {
    DiskTier& disk = *tiers->disk();
    std::mt19937 random(7);
    std::uint64_t ahead = 0;
    std::deque<FileRef> waiting;
    for (std::uint64_t id = 1, written = 0; written < 3 * disk.counts().budget_bytes; ++id) {
      const FileRef next{SampleId{id}, "f" + std::to_string(id), Version{.size = smallest + random() % (largest - smallest)}};
      const std::uint64_t room = tiers->room_for(next.version.size);
      while (ahead + room > tiers->window_bytes()) {
        std::swap(waiting.front(), waiting[random() % waiting.size()]);
        ahead -= tiers->room_for(waiting.front().version.size);
        disk.touch(waiting.front().id);
        waiting.pop_front();
      }
      const bool is_demand = id % 3 == 0;  // read at once: it comes in or not, and makes way for what is unread
      if (is_demand) disk.touch(next.id);
      const std::shared_ptr<std::byte[]> bytes(new std::byte[next.version.size]());
      disk.write(next, 0, Bytes(bytes, next.version.size));
      written += next.version.size;
      if (id % 64 == 0) disk.flush();
      if (is_demand) continue;
      ahead += room;
      waiting.push_back(next);
    }
    disk.flush();
    const auto is_held = [&](const FileRef& file) { return tiers->on_disk(file.id, file.version.size); };
    EXPECT_EQ(std::count_if(waiting.begin(), waiting.end(), is_held), std::ssize(waiting));
    EXPECT_LE(disk.counts().high_water_bytes, disk.counts().budget_bytes);
    EXPECT_GE(tiers->window_bytes(), disk.counts().budget_bytes / 10 * 9) << "much of the disk is never used";
  }

  TemporaryFolder folder;
  TemporaryFolder state_folder;
  TemporaryFolder disk_folder;
  DirectorySource source{folder.path(), false};
  StateDir state{state_folder.path()};
  ScanProgress progress;
  HeldIo::Gate gate;
  std::unique_ptr<Snapshots> snapshots;
  std::unique_ptr<Tiers> tiers;
};

TEST_F(TiersTest, ThereIsNoRoomAheadWhileTheDisksQueueIsFull) {
  start("importance", 512 * kMiB);
  EXPECT_TRUE(tiers->has_room_ahead(kMiB));
  gate.open(false);
  for (std::uint64_t id = 1; id <= 47; ++id) write(id);
  EXPECT_TRUE(tiers->has_room_ahead(kMiB));
  write(48);
  EXPECT_FALSE(tiers->has_room_ahead(kMiB)) << "a quarter is for what readers fetch";
  EXPECT_TRUE(tiers->has_taken(file(48)));
  for (std::uint64_t id = 49; id <= 65; ++id) write(id);
  EXPECT_FALSE(tiers->has_taken(file(65))) << "the queue dropped it";
  gate.open(true);
  tiers->disk()->flush();
  EXPECT_TRUE(tiers->has_room_ahead(kMiB));
}

TEST_F(TiersTest, WhatNoJobExpectsLeavesForWhatOneReadsAndForNothingElse) {
  start("importance", 16 * kMiB);
  for (std::uint64_t id = 1; id <= 16; ++id) read(id);
  tiers->begin_epoch();
  read(100);
  EXPECT_FALSE(holds(100)) << "all are unread, and as important";
  for (std::uint64_t id = 1; id <= 16; ++id) tiers->foresee(SampleId{id}, AheadStore::Prospect::kNobodys);
  tiers->foresee(SampleId{101}, AheadStore::Prospect::kNobodys);
  read(101);
  EXPECT_FALSE(holds(101)) << "nobody's leave for nobody's not";
  read(100);
  EXPECT_TRUE(holds(100));
  tiers->set_importance(SampleId{101}, 1);
  read(101);
  EXPECT_FALSE(holds(101)) << "a score does not make it expected";
  tiers->foresee(SampleId{101}, AheadStore::Prospect::kWillBeRead);
  read(101);
  EXPECT_TRUE(holds(100) && holds(101));
  EXPECT_GE(tiers->disk()->counts().samples, 14u) << "no more left than had to";
}

TEST_F(TiersTest, WhateverFitsTheWindowIsTakenHoweverOftenTheDiskIsTurnedOver) {
  start("importance", 32 * kMiB);
  turn_over(20'000, 110'000);
}

TEST_F(TiersTest, WhateverFitsTheWindowIsTakenAlsoOfSmallFiles) {
  start("importance", 32 * kMiB);
  turn_over(2'000, 6'000);
}

TEST_F(TiersTest, UnderLruHalfOfADiskThatIsTooSmallMayWaitIfTheOrderIsKnown) {
  folder.file("large", std::string(33 * kMiB, 'x'));
  start("lru", 32 * kMiB);
  for (const bool is_full : {false, true}) {
    EXPECT_FALSE(tiers->has_room_ahead(kMiB)) << "the unread would leave unread";
    EXPECT_TRUE(tiers->has_room_in_order(10 * kMiB, kMiB));
    EXPECT_FALSE(tiers->has_room_in_order(16 * kMiB, kMiB));
    for (std::uint64_t id = 1; id <= 40 && !is_full; ++id) read(id);
  }
}

TEST_F(TiersTest, UnderLruWhatAllFitsMayBeSwept) {
  folder.file("large", std::string(20 * kMiB, 'x'));
  start("lru", 32 * kMiB);
  EXPECT_TRUE(tiers->has_room_ahead(kMiB));
  EXPECT_TRUE(tiers->has_room_in_order(16 * kMiB, kMiB));
}

TEST_F(TiersTest, IfNobodyLeavesAFullDiskHasNoRoom) {
  start("none", 32 * kMiB);
  for (std::uint64_t id = 1; id <= 40; ++id) read(id);
  EXPECT_FALSE(tiers->has_room_ahead(kMiB) || tiers->has_room_in_order(0, kMiB));
}

}  // namespace
}  // namespace winnow
