#include "fs/prefetch.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "cache/directory_source.h"
#include "fs/snapshots.h"
#include "fs/state_dir.h"
#include "policy/random.h"
#include "tests/cache/temporary_folder.h"
#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

constexpr std::uint64_t kFileBytes = 1000;

// A tier of so many bytes in which fetches end when the test says so.
class FakeStore final : public AheadStore {
 public:
  bool holds(SampleId id, std::uint64_t) const override {
    const std::lock_guard lock(mutex);
    return held.contains(value(id));
  }
  bool has_room_ahead(std::uint64_t) const override { return true; }
  bool can_take(NodeId) const override { return true; }
  double importance(SampleId id) const override { return value(id) % 2 == 0 ? 1.0 : 0.5; }
  void begin_epoch() override { ++epochs; }
  bool fetch(const FileRef& file, Fetcher::Prefetched done) override {
    const std::lock_guard lock(mutex);
    fetched.push_back(file.path);
    waiting.push_back([this, id = file.id, done = std::move(done)](bool well) {
      {
        const std::lock_guard again(mutex);
        if (well) held.insert(value(id));
      }
      done(well ? Fetcher::Brought::kFromSource : Fetcher::Brought::kNothing);
    });
    most_waiting = std::max(most_waiting, waiting.size());
    return true;
  }

  // Ends what is under way; false if there was nothing.
  bool finish(bool well) {
    std::vector<std::function<void(bool)>> ready;
    {
      const std::lock_guard lock(mutex);
      ready.swap(waiting);
    }
    for (const auto& end : ready) end(well);
    return !ready.empty();
  }

  mutable std::mutex mutex;
  std::set<std::uint64_t> held;
  std::vector<std::string> fetched;
  std::vector<std::function<void(bool)>> waiting;
  std::size_t most_waiting = 0;
  std::atomic<int> epochs{0};
};

struct PrefetchTest : testing::Test {
  PrefetchTest() {
    for (int i = 0; i < 200; ++i) folder.file("train/f" + std::to_string(1000 + i), std::string(kFileBytes, 'x'));
    for (int i = 0; i < 20; ++i) folder.file("other/f" + std::to_string(1000 + i), std::string(kFileBytes, 'x'));
    take_snapshot(source, state, false, nullptr, progress);
    snapshots = std::make_unique<Snapshots>(source, state, false, state.open_tree());
    snapshots->tree()->each_file([this](const Node& file) {
      const std::string path = snapshots->tree()->path(file);
      if (path.starts_with("train/")) ids.push_back(file.id);
    });
  }
  void start(Prefetch::Options options = {.at_once = 8, .window_bytes = 1 << 30}) {
    prefetch = std::make_unique<Prefetch>(options, *snapshots, store);
  }
  std::vector<NodeId> shuffled(std::uint64_t seed) const {
    std::vector<NodeId> order = ids;
    Random random(seed);
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    return order;
  }
  void TearDown() override {
    if (prefetch) prefetch->stop();
    store.finish(true);
  }
  // Ends what is under way, again and again, until nothing more is begun.
  void finish_all(bool well = true) {
    while (!prefetch->counts().idle || store.finish(well)) std::this_thread::yield();
  }
  void open(NodeId id, bool in_memory = true) {
    const auto tree = snapshots->tree();
    prefetch->on_open(*tree, *tree->find(id), reader, in_memory);
  }
  std::string path(NodeId id) const { return snapshots->tree()->path(*snapshots->tree()->find(id)); }

  TemporaryFolder folder;
  TemporaryFolder state_folder;
  DirectorySource source{folder.path(), false};
  StateDir state{state_folder.path()};
  ScanProgress progress;
  std::unique_ptr<Snapshots> snapshots;
  std::vector<NodeId> ids;
  FakeStore store;
  std::unique_ptr<Prefetch> prefetch;
  const int reader = getpid();
};

TEST_F(PrefetchTest, SweepsWhatAnEpochHasNotReadYetInTheFoldersItReads) {
  start();
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 70; ++i) open(order[i]);
  finish_all();
  const std::set<std::string> fetched(store.fetched.begin(), store.fetched.end());
  EXPECT_EQ(fetched.size(), store.fetched.size()) << "each once";
  EXPECT_GE(fetched.size(), 130u);
  EXPECT_LE(fetched.size(), 168u);  // those read before the job was recognised are not among them
  for (const std::string& one : fetched) EXPECT_TRUE(one.starts_with("train/")) << one;
  EXPECT_LE(store.most_waiting, 8u);
  EXPECT_EQ(prefetch->counts().jobs.size(), 1u);
}

TEST_F(PrefetchTest, BringsTheImportantOnesFirst) {
  start({.at_once = 1, .window_bytes = 1 << 30});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all();
  bool unimportant_seen = false;
  for (const std::string& one : store.fetched) {
    const auto id = at_path(*snapshots->tree(), one)->id;
    const bool important = value(id) % 2 == 0;
    EXPECT_FALSE(important && unimportant_seen);
    unimportant_seen |= !important;
  }
  EXPECT_TRUE(unimportant_seen);
}

TEST_F(PrefetchTest, KeepsNoMoreAheadThanFitsAndGoesOnWhenItIsRead) {
  start({.at_once = 8, .window_bytes = 10 * kFileBytes});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all();
  EXPECT_EQ(store.fetched.size(), 10u);
  EXPECT_EQ(prefetch->counts().ahead_files, 10u);
  const std::vector<std::string> first = store.fetched;
  for (std::size_t i = 0; i < 4; ++i) open(at_path(*snapshots->tree(), first[i])->id);
  finish_all();
  EXPECT_EQ(store.fetched.size(), 14u);
}

TEST_F(PrefetchTest, AFileThatIsOpenButNotReadYetStillTakesItsRoom) {
  start({.at_once = 8, .window_bytes = 10 * kFileBytes});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all();
  const NodeId first = at_path(*snapshots->tree(), store.fetched[0])->id;
  open(first, false);
  finish_all();
  EXPECT_EQ(store.fetched.size(), 10u);
  prefetch->on_miss(first);
  finish_all();
  EXPECT_EQ(store.fetched.size(), 11u);
}

TEST_F(PrefetchTest, AWalkerStartsNothing) {
  start();
  std::vector<NodeId> order = ids;
  std::sort(order.begin(), order.end(), [this](NodeId a, NodeId b) { return path(a) < path(b); });
  for (const NodeId id : order) open(id);
  finish_all();
  EXPECT_TRUE(store.fetched.empty());
  EXPECT_EQ(store.epochs, 0);
}

TEST_F(PrefetchTest, FollowsADeclaredOrderExactly) {
  start({.at_once = 1, .window_bytes = 1 << 30, .tracked = false});
  std::vector<SampleId> order;
  for (const NodeId id : shuffled(3)) order.push_back(sample_of(id));
  prefetch->declare(order);
  finish_all();
  ASSERT_EQ(store.fetched.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(store.fetched[i], path(node_of(order[i])));
  EXPECT_EQ(prefetch->counts().declared, order.size());
}

TEST_F(PrefetchTest, WithoutTrackingAMissTellsHowFarADeclaredOrderWasRead) {
  start({.at_once = 4, .window_bytes = 50 * kFileBytes, .tracked = false});
  std::vector<SampleId> order;
  for (const NodeId id : shuffled(3)) order.push_back(sample_of(id));
  prefetch->declare(order);
  finish_all();
  EXPECT_EQ(store.fetched.size(), 50u);
  for (std::size_t i = 0; i < 20; ++i) prefetch->on_miss(node_of(order[i]));
  finish_all();
  EXPECT_EQ(store.fetched.size(), 70u);
}

TEST_F(PrefetchTest, WithoutTrackingNothingIsSweptByItself) {
  start({.at_once = 8, .window_bytes = 1 << 30, .tracked = false});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 100; ++i) open(order[i]);
  finish_all();
  EXPECT_TRUE(store.fetched.empty());
}

TEST_F(PrefetchTest, WhatIsHeldIsNotFetchedInTheNextEpoch) {
  start();
  for (const std::uint64_t seed : {1, 2}) {
    for (const NodeId id : shuffled(seed)) {
      open(id);
      if (value(id) % 16 == 0) finish_all();
    }
  }
  finish_all();
  const std::set<std::string> fetched(store.fetched.begin(), store.fetched.end());
  EXPECT_EQ(fetched.size(), store.fetched.size());
  EXPECT_EQ(store.epochs, 3);  // the first, its end, and the second's
}

TEST_F(PrefetchTest, ASourceThatFailsIsAskedLessAtATime) {
  start({.at_once = 8, .window_bytes = 1 << 30});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all(false);
  EXPECT_EQ(prefetch->counts().limit, 1u);
  EXPECT_EQ(prefetch->counts().fetched, 0u);
  EXPECT_GT(prefetch->counts().failed, 100u);
}

}  // namespace
}  // namespace winnow
