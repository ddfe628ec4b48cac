#include "fs/warm.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "cache/directory_source.h"
#include "fs/state_dir.h"
#include "policy/registry.h"
#include "tests/cache/disk/disk_fixture.h"
#include "tests/cache/temporary_folder.h"
#include "tests/fs/fake_kernel_cache.h"
#include "tests/fs/mount_fixture.h"

namespace winnow {
namespace {

// A source whose bytes can turn into others under the same version, which a real one promises not to do.
class LyingSource final : public Source {
 public:
  explicit LyingSource(Source& truth) : truth_(truth) {}
  std::string identity() const override { return truth_.identity(); }
  Result<Listing> list(ScanProgress& progress) override { return truth_.list(progress); }
  Result<FileStat> stat(const std::string& path) override { return truth_.stat(path); }
  Result<Bytes> read(const std::string& path, const Version& version, std::uint64_t offset, std::size_t size) override {
    if (fails_all) {
      std::this_thread::sleep_for(fails_after);
      return errno_error(EACCES);
    }
    if (path == fails && fail_times != 0) {
      --fail_times;
      return errno_error(EIO);
    }
    {
      const std::lock_guard lock(mutex);
      largest = std::max(largest, size);
      ++reads;
    }
    if (before_read) before_read();
    const auto bytes = truth_.read(path, version, offset, size);
    if (!bytes || path != lies_about) return bytes;
    const std::shared_ptr<std::byte[]> other(new std::byte[size]());
    return Bytes(other, bytes.value().size());
  }
  std::string lies_about;
  std::string fails;
  std::atomic<bool> fails_all{false};
  std::chrono::milliseconds fails_after{0};
  std::function<void()> before_read;  // one at a time
  std::atomic<int> fail_times{-1};  // for ever
  std::mutex mutex;                 // guards the two below
  std::size_t largest = 0;
  int reads = 0;

 private:
  Source& truth_;
};

struct WarmTest : testing::Test {
  WarmTest() {
    for (int i = 0; i < 50; ++i) folder.file("d/f" + std::to_string(100 + i), std::string(5000, static_cast<char>('a' + i % 26)));
  }
  // With a disk, or with nothing but the page cache, of which the kernel takes what it is given.
  void start(bool with_disk = true) {
    take_snapshot(source, state, false, nullptr, progress);
    snapshots = std::make_unique<Snapshots>(source, state, false, state.open_tree());
    notifications = std::make_unique<WorkerPool>(WorkerPool::Options{.name = "test-notify", .max_threads = 1});
    MountOptions options;
    options.disk_bytes = with_disk ? 32 << 20 : 0;
    options.disk_dir = disk_folder.path();
    options.memory_bytes = 64 << 20;
    options.page_cache = !with_disk;
    tiers = std::make_unique<Tiers>(options, source.identity(), *snapshots, true,
                                    std::make_unique<FaultyIo>(faults));
    pages = std::make_unique<PageTier>(kernel, *snapshots, *notifications, options.memory_bytes,
                                       make_eviction(options.policy, ""), page_counts);
    PageTier* const kept = with_disk ? nullptr : pages.get();
    reads = std::make_unique<ReadPath>(source, tiers->near(), *snapshots, kernel, *notifications, kept,
                                       FetchOptions{.whole_file_bytes = 1 << 20, .threads = 4});
    tiers->attach(kept, *reads, [this](NodeId id) {
      const auto tree = snapshots->tree();
      return kernel.was_asked_for(tree->path(*tree->find(id)));
    });
    tiers->adopt();
    warm = std::make_unique<Warm>(Warm::Parts{*snapshots, *tiers, *reads, kernel, source, folder.path()});
  }
  void TearDown() override {
    reads->stop();
    notifications->stop();
  }

  TemporaryFolder folder;
  TemporaryFolder state_folder;
  TemporaryFolder disk_folder;
  DirectorySource directory{folder.path(), false};
  LyingSource source{directory};
  StateDir state{state_folder.path()};
  ScanProgress progress;
  FakeKernelCache kernel;
  PageCounts page_counts;
  const std::shared_ptr<FaultyIo::Faults> faults = std::make_shared<FaultyIo::Faults>();
  std::unique_ptr<Snapshots> snapshots;
  std::unique_ptr<WorkerPool> notifications;
  std::unique_ptr<Tiers> tiers;
  std::unique_ptr<PageTier> pages;
  std::unique_ptr<ReadPath> reads;
  std::unique_ptr<Warm> warm;
};

TEST_F(WarmTest, FillsAFractionInTheOrderOfPathsAndThenTheRest) {
  start();
  const WarmProgress half = warm->run({.fraction = 0.5});
  EXPECT_EQ(half.files, 25u);
  EXPECT_EQ(half.fetched_files, 25u);
  EXPECT_EQ(half.held_files, 25u);
  EXPECT_EQ(half.found_bytes, 0u);
  EXPECT_EQ(tiers->disk()->counts().queued_bytes, 0u) << "it is all written when the run has ended";
  EXPECT_EQ(tiers->shares().disk_files, 25u);
  const WarmProgress rest = warm->run({});
  EXPECT_EQ(rest.done_files, 50u);
  EXPECT_EQ(rest.fetched_files, 25u);
  EXPECT_EQ(rest.held_files, 50u);
  EXPECT_EQ(rest.found_bytes, 25u * 5000) << "what was there before is no measure of the rate";
  EXPECT_FALSE(rest.running);
}

TEST_F(WarmTest, ALargeFileComesByPartsAndAllOfItIsKept) {
  folder.file("large", pattern((9 << 20) + 5));
  start();
  const WarmProgress made = warm->run({});
  EXPECT_EQ(made.held_files, 51u);
  EXPECT_EQ(made.fetched_files, 51u);
  EXPECT_EQ(made.done_bytes, made.bytes);
  EXPECT_LE(source.largest, std::size_t{1} << 20);
  const int before = source.reads;
  EXPECT_EQ(before, 60);
  EXPECT_EQ(warm->run({}).held_files, 51u);
  EXPECT_EQ(source.reads, before);
}

TEST_F(WarmTest, WhatIsMissingOfALargeFileIsFetchedAndNoMore) {
  folder.file("large", pattern(9 << 20));
  start();
  const auto node = at_path(*snapshots->tree(), "large").value();
  const FileRef large{sample_of(node.id), "large", node.stat.version};
  const auto bytes = directory.read("large", large.version, 0, 5 << 20);
  tiers->disk()->write(large, 0, bytes.value());
  const WarmProgress made = warm->run({});
  EXPECT_EQ(made.held_files, 51u);
  EXPECT_EQ(made.found_bytes, 5u << 20);
  EXPECT_EQ(source.reads, 50 + 4);
}

TEST_F(WarmTest, WithoutADiskFilesAreLookedUpAndTheirPagesPushed) {
  folder.file("large", pattern((3 << 20) + 5));
  start(false);
  const WarmProgress made = warm->run({});
  EXPECT_EQ(made.held_files, 51u);
  EXPECT_EQ(made.fetched_files, 51u);
  std::uint64_t stored = 0;
  for (const auto& store : kernel.stores()) stored += store.bytes.size();
  EXPECT_EQ(stored, made.bytes);
}

TEST_F(WarmTest, WhatTheKernelDoesNotTakeIsNotCountedAsHeld) {
  start(false);
  kernel.refuse_stores(ENOENT);
  const WarmProgress made = warm->run({});
  EXPECT_EQ(made.fetched_files, 50u);
  EXPECT_EQ(made.held_files, 0u);
}

TEST_F(WarmTest, ItStopsWhereSomebodyWouldHaveToLeave) {
  folder.file("large", pattern(40 << 20));
  start();
  const WarmProgress made = warm->run({});
  EXPECT_TRUE(made.full);
  EXPECT_EQ(made.held_files, 50u);
  EXPECT_EQ(made.done_files, 50u);
  EXPECT_EQ(tiers->disk()->counts().evictions + tiers->disk()->counts().dropped_writes, 0u);
}

TEST_F(WarmTest, TheCheckFindsAndDropsWhatDiffersFromTheSource) {
  start();
  warm->run({});
  EXPECT_EQ(warm->run({.check = true}).wrong_files, 0u);
  source.lies_about = "d/f107";
  EXPECT_EQ(warm->run({.check = true}).wrong_files, 1u);
  EXPECT_EQ(tiers->shares().nowhere_files, 1u);
  EXPECT_EQ(warm->run({.check = true}).wrong_files, 0u);
}

TEST_F(WarmTest, TheCheckOfAnEmptyCacheSaysThatNothingWasCompared) {
  start();
  const WarmProgress checked = warm->run({.check = true});
  EXPECT_EQ(checked.done_files, 50u);
  EXPECT_EQ(checked.not_held_files, 50u);
  EXPECT_EQ(checked.compared_files + checked.held_files + checked.held_bytes, 0u);
  EXPECT_EQ(source.reads, 0);
}

TEST_F(WarmTest, TheCheckCountsWhatIsHeldAndCompared) {
  folder.file("large", pattern(9 << 20));
  folder.file("nothing", "");
  start();
  const auto node = at_path(*snapshots->tree(), "large").value();
  const FileRef large{sample_of(node.id), "large", node.stat.version};
  warm->run({.fraction = 0.5});
  tiers->disk()->write(large, 0, directory.read("large", large.version, 0, 3 << 20).value());
  const WarmProgress checked = warm->run({.check = true});
  EXPECT_EQ(checked.held_files, 28u) << "half of them, the empty one, and a part of the large one";
  EXPECT_EQ(checked.held_bytes, 26u * 5000 + (3 << 20));
  EXPECT_EQ(checked.compared_files, checked.held_files);
  EXPECT_EQ(checked.not_held_files, 24u);
  EXPECT_EQ(checked.wrong_files + checked.unreadable_files + checked.unreadable_slots, 0u);
}

TEST_F(WarmTest, TheCheckTellsOfTornSlotsAndOfThoseThatCannotBeRead) {
  start();
  warm->run({});
  faults->read_error = EIO;
  const WarmProgress unreadable = warm->run({.check = true});
  EXPECT_EQ(unreadable.held_files, 50u);
  EXPECT_EQ(unreadable.unreadable_files, 50u);
  EXPECT_EQ(unreadable.unreadable_slots, 50u);
  EXPECT_EQ(unreadable.compared_files, 0u);
  faults->read_error = 0;
  faults->flip_reads = true;
  const WarmProgress torn = warm->run({.check = true});
  EXPECT_EQ(torn.unreadable_files, 50u);
  EXPECT_EQ(torn.compared_files + torn.wrong_files, 0u) << "they were not compared";
  EXPECT_EQ(tiers->disk()->counts().torn, 50u);
  EXPECT_EQ(warm->run({.check = true}).not_held_files, 50u);
}

TEST_F(WarmTest, TheCheckDropsWrongPagesToo) {
  start(false);
  warm->run({});
  source.lies_about = "d/f107";
  const NodeId node = at_path(*snapshots->tree(), "d/f107")->id;
  EXPECT_EQ(warm->run({.check = true}).wrong_files, 1u);
  EXPECT_EQ(kernel.count("node " + std::to_string(value(node))), 1u);
  EXPECT_EQ(pages->residency().bytes(sample_of(node)), 0u);
}

TEST_F(WarmTest, ASourceThatDoesNotAnswerIsNoAllClear) {
  start();
  warm->run({});
  source.fails = "d/f110";
  const WarmProgress checked = warm->run({.check = true, .source_timeout = std::chrono::milliseconds(50)});
  EXPECT_EQ(checked.failed_files, 1u);
  EXPECT_EQ(checked.done_files, 50u);
  EXPECT_EQ(tiers->shares().disk_files, 50u) << "it may well be right";
}

TEST_F(WarmTest, TheCheckTriesAgainAsReadsDo) {
  start();
  warm->run({});
  source.fails = "d/f110";
  source.fail_times = 2;
  const WarmProgress checked = warm->run({.check = true});
  EXPECT_EQ(checked.failed_files + checked.wrong_files, 0u);
  EXPECT_EQ(source.fail_times, 0);
}

TEST_F(WarmTest, WhatChangedAtTheSourceIsDroppedAndItsNameLeadsToTheNewFile) {
  start();
  warm->run({});
  const NodeId old = at_path(*snapshots->tree(), "d/f110")->id;
  folder.overwrite("d/f110", "changed");
  const WarmProgress checked = warm->run({.check = true});
  EXPECT_EQ(checked.changed_files, 1u);
  EXPECT_EQ(checked.wrong_files + checked.failed_files, 0u);
  EXPECT_EQ(tiers->shares().disk_files, 49u);
  EXPECT_NE(at_path(*snapshots->tree(), "d/f110")->id, old);
  drain(*notifications);
  EXPECT_FALSE(kernel.events().empty()) << "the kernel was not told";
}

TEST_F(WarmTest, AFailingSourceIsCountedAndTheRestGoesOn) {
  start();
  folder.overwrite("d/f110", "changed");
  const WarmProgress made = warm->run({});
  EXPECT_EQ(made.failed_files, 1u);
  EXPECT_EQ(made.done_files, 50u);
  EXPECT_EQ(made.held_files, 49u);
}

TEST_F(WarmTest, WhatIsCancelledSaysSoAndHowFarItCame) {
  start();
  source.before_read = [this] {
    if (source.reads == 10) warm->cancel();
  };
  const WarmProgress made = warm->run({.at_once = 1});
  EXPECT_TRUE(made.cancelled);
  EXPECT_TRUE(made.on_disk);
  EXPECT_FALSE(made.full);
  EXPECT_GE(made.held_files, 10u);
  EXPECT_LT(made.held_files, 50u);
  source.before_read = nullptr;
  const WarmProgress rest = warm->run({});
  EXPECT_FALSE(rest.cancelled);
  EXPECT_EQ(rest.fetched_files, 50 - made.held_files);
}

TEST_F(WarmTest, ASourceThatFailsForManyFilesInARowIsGivenUpAndTheNextRunGoesOn) {
  for (int i = 0; i < 100; ++i) folder.file("e/f" + std::to_string(100 + i), "some bytes");
  start();
  source.before_read = [this] { source.fails_all = source.reads == 20; };
  const WarmProgress made = warm->run({.at_once = 1});
  EXPECT_TRUE(made.source_fails);
  EXPECT_FALSE(made.full || made.cancelled);
  EXPECT_EQ(made.held_files, 20u);
  EXPECT_GE(made.failed_files, 32u);
  EXPECT_LE(made.done_files, 53u);
  source.fails_all = false;
  source.before_read = nullptr;
  const WarmProgress rest = warm->run({});
  EXPECT_FALSE(rest.source_fails);
  EXPECT_EQ(rest.fetched_files, 130u);
  EXPECT_EQ(rest.held_files, 150u);
}

TEST_F(WarmTest, ASourceThatHangsIsGivenUpAfterFewFiles) {
  using namespace std::chrono_literals;
  start();
  source.fails_after = 2ms;
  source.before_read = [this] { source.fails_all = source.reads == 20; };
  const WarmProgress made = warm->run({.at_once = 1, .source_timeout = 2ms});
  EXPECT_TRUE(made.source_fails);
  EXPECT_EQ(made.held_files, 20u);
  EXPECT_GE(made.failed_files, 4u);
  EXPECT_LE(made.failed_files, 5u) << "a file may have been begun meanwhile";
}

TEST_F(WarmTest, ACheckGivesUpASourceThatFailsToo) {
  start();
  warm->run({});
  source.fails_all = true;
  const WarmProgress made = warm->run({.check = true, .at_once = 1});
  EXPECT_TRUE(made.source_fails);
  EXPECT_GE(made.failed_files, 32u);
  EXPECT_LE(made.done_files, 33u);
  EXPECT_EQ(made.wrong_files + made.changed_files, 0u);
}

TEST_F(WarmTest, ManyFilesThatChangedAreNoFailingSource) {
  folder.file("e/last", "some bytes");
  start();
  for (int i = 0; i < 50; ++i) folder.overwrite("d/f" + std::to_string(100 + i), "changed");
  const WarmProgress made = warm->run({});
  EXPECT_FALSE(made.source_fails);
  EXPECT_EQ(made.failed_files, 50u);
  EXPECT_EQ(made.held_files, 1u) << "what comes behind them";
}

TEST_F(WarmTest, ADiskThatIsNotWrittenToIsNotFull) {
  start();
  faults->write_error = EIO;
  const WarmProgress first = warm->run({});
  EXPECT_TRUE(first.not_writing || first.held_files == 0);
  EXPECT_FALSE(first.full);
  const WarmProgress made = warm->run({});
  EXPECT_TRUE(made.not_writing);
  EXPECT_FALSE(made.full);
  EXPECT_NE(made.disk_trouble, "");
  EXPECT_EQ(made.fetched_files, 0u) << "it is tried again after a while, not at once";
  EXPECT_EQ(made.held_files, 0u);
}

TEST_F(WarmTest, AMountThatKeepsNothingSaysSo) {
  start(false);
  tiers->attach(nullptr, *reads, [](NodeId) { return true; });
  EXPECT_THROW(warm->run({}), StartupError);
}

}  // namespace
}  // namespace winnow
