#include "fs/prefetch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
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
    ++looks;
    const std::lock_guard lock(mutex);
    return held.contains(value(id));
  }
  bool has_taken(const FileRef& file) const override { return holds(file.id, file.version.size); }
  bool has_room_ahead(std::uint64_t bytes) const override {
    const std::lock_guard lock(mutex);
    return held.size() * kFileBytes + bytes <= room;
  }
  bool has_room_in_order(std::uint64_t, std::uint64_t bytes) const override { return has_room_ahead(bytes); }
  bool can_take(NodeId) const override { return names_are_known; }
  double importance(SampleId id) const override { return value(id) % 2 == 0 ? 1.0 : 0.5; }
  void begin_epoch() override { ++epochs; }
  void foresee(SampleId id, Prospect prospect) override {
    const std::lock_guard lock(mutex);
    prospects[value(id)] = prospect;
  }
  bool fetch(const FileRef& file, Fetcher::Prefetched done) override {
    const std::lock_guard lock(mutex);
    fetched.push_back(file.path);
    waiting.push_back([this, id = file.id, done = std::move(done)](bool well) {
      {
        const std::lock_guard again(mutex);
        if (well && takes) held.insert(value(id));
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
  mutable std::atomic<std::uint64_t> looks{0};
  std::atomic<std::uint64_t> room{~std::uint64_t{0}};
  std::atomic<bool> names_are_known{true};
  std::atomic<bool> takes{true};
  std::map<std::uint64_t, Prospect> prospects;
  std::set<std::uint64_t> held;
  std::vector<std::string> fetched;
  std::vector<std::function<void(bool)>> waiting;
  std::size_t most_waiting = 0;
  std::atomic<int> epochs{0};
};

// A process in a group of its own, which reads nothing by itself.
struct Process {
  Process() : pid(fork()) {
    if (pid == 0) {
      while (true) pause();
    }
    setpgid(pid, pid);
  }
  ~Process() { end(); }
  void end() {
    if (std::exchange(ended, true)) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  const pid_t pid;
  bool ended = false;
};

struct PrefetchTest : testing::Test {
  PrefetchTest() {
    for (int i = 0; i < 200; ++i) folder.file("train/f" + std::to_string(1000 + i), std::string(kFileBytes, 'x'));
    for (int i = 0; i < 60; ++i) folder.file("other/f" + std::to_string(1000 + i), std::string(kFileBytes, 'x'));
    take();
  }
  void take() {
    ids.clear();
    others.clear();
    take_snapshot(source, state, false, nullptr, progress);
    snapshots = std::make_unique<Snapshots>(source, state, false, state.open_tree());
    snapshots->tree()->each_file([this](const Node& file) {
      const std::string path = snapshots->tree()->path(file);
      (path.starts_with("train/") ? ids : others).push_back(file.id);
    });
  }
  void start(Prefetch::Options options = {.at_once = 8, .window_bytes = 1 << 30}) {
    prefetch = std::make_unique<Prefetch>(options, *snapshots, store);
  }
  std::vector<NodeId> shuffled(std::uint64_t seed) const { return shuffled(seed, ids); }
  static std::vector<NodeId> shuffled(std::uint64_t seed, std::vector<NodeId> order) {
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
  void open(NodeId id, bool in_memory = true) { open_as(reader, id, in_memory); }
  void open_as(int pid, NodeId id, bool in_memory = true) {
    const auto tree = snapshots->tree();
    prefetch->on_open(*tree, *tree->find(id), pid, in_memory);
  }
  // Ends what is under way until it is so.
  template <typename Condition>
  void finish_until(const Condition& condition) {
    while (!condition()) {
      store.finish(true);
      std::this_thread::yield();
    }
  }
  std::size_t fetched() {
    const std::lock_guard lock(store.mutex);
    return store.fetched.size();
  }
  std::vector<SampleId> samples(const std::vector<NodeId>& nodes) const {
    std::vector<SampleId> found;
    for (const NodeId id : nodes) found.push_back(sample_of(id));
    return found;
  }
  std::string path(NodeId id) const { return snapshots->tree()->path(*snapshots->tree()->find(id)); }

  TemporaryFolder folder;
  TemporaryFolder state_folder;
  DirectorySource source{folder.path(), false};
  StateDir state{state_folder.path()};
  ScanProgress progress;
  std::unique_ptr<Snapshots> snapshots;
  std::vector<NodeId> ids;     // in train/
  std::vector<NodeId> others;  // elsewhere
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

TEST_F(PrefetchTest, WaitsForRoomInTheStoreAndLooksForItAgain) {
  store.room = 20 * kFileBytes;
  start();
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all();
  EXPECT_EQ(fetched(), 20u);
  store.room = 30 * kFileBytes;  // the disk has written; nobody says so
  finish_until([&] { return fetched() == 30; });
}

TEST_F(PrefetchTest, OnlyWhatTheStoreTookIsAhead) {
  store.takes = false;
  start({.at_once = 8, .window_bytes = 10 * kFileBytes});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all();
  EXPECT_EQ(prefetch->counts().ahead_files, 0u);
  EXPECT_GT(fetched(), 100u);
}

TEST_F(PrefetchTest, AJobsEndFreesWhatWasFetchedForIt) {
  start({.at_once = 8, .window_bytes = 10 * kFileBytes});
  Process first;
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open_as(first.pid, order[i]);
  finish_all();
  EXPECT_EQ(prefetch->counts().ahead_files, 10u);
  first.end();
  const auto second = shuffled(2, others);
  const std::size_t before = fetched();
  for (std::size_t i = 0; i < 40; ++i) open(second[i]);
  finish_all();
  EXPECT_GE(fetched(), before + 10);
  for (std::size_t i = before; i < fetched(); ++i) EXPECT_TRUE(store.fetched[i].starts_with("other/"));
  EXPECT_EQ(prefetch->counts().jobs.size(), 1u);
}

TEST_F(PrefetchTest, ADeclaredOrderHasAllTheRoom) {
  start({.at_once = 1, .window_bytes = 10 * kFileBytes});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all();
  const std::size_t before = fetched();
  const auto declared = shuffled(2, others);
  prefetch->declare(samples(declared));
  finish_all();
  ASSERT_EQ(fetched(), before + 10);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(store.fetched[before + i], path(declared[i]));
  EXPECT_EQ(prefetch->counts().ahead_files, 10u);
}

TEST_F(PrefetchTest, AFolderThatAJobBeginsToReadFromIsPlannedAlone) {
  for (int i = 0; i < 600; ++i)
    folder.file("class" + std::to_string(i % 60) + "/f" + std::to_string(i), std::string(kFileBytes, 'x'));
  take();
  start({.at_once = 8, .window_bytes = 20 * kFileBytes});
  const auto order = shuffled(1, others);
  for (const NodeId id : order) {
    open(id);
    if (value(id) % 8 == 0) finish_all();
  }
  finish_all();
  const std::uint64_t files = ids.size() + others.size();
  EXPECT_LT(store.looks, 5 * files) << "of " << files << " files, with 61 folders";
  EXPECT_GT(fetched(), 40u);
}

TEST_F(PrefetchTest, AnOrderWaitsForNamesThatTheKernelDoesNotKnowYet) {
  store.names_are_known = false;
  start({.at_once = 4, .window_bytes = 1 << 30});
  const auto order = shuffled(3);
  prefetch->declare(samples(order));
  finish_all();
  EXPECT_EQ(fetched(), 0u);
  open(order[0]);
  store.names_are_known = true;
  finish_until([&] { return fetched() == order.size() - 1; });
  for (std::size_t i = 1; i < order.size(); ++i) EXPECT_EQ(store.fetched[i - 1], path(order[i]));
}

TEST_F(PrefetchTest, AnOrderEndsWithThoseWhoReadIt) {
  start({.at_once = 8, .window_bytes = 20 * kFileBytes});
  Process first;
  const auto declared = shuffled(2, others);
  prefetch->declare(samples(declared));
  for (std::size_t i = 0; i < 40; ++i) open_as(first.pid, declared[i]);
  finish_all();
  EXPECT_EQ(prefetch->counts().declared, 20u);
  first.end();
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 40; ++i) open(order[i]);
  finish_all();
  EXPECT_EQ(prefetch->counts().declared, 0u);
  EXPECT_TRUE(store.fetched.back().starts_with("train/"));
}

TEST_F(PrefetchTest, TellsTheStoreWhatNoJobExpects) {
  start({.at_once = 0, .window_bytes = 1 << 30});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all();
  EXPECT_EQ(fetched(), 0u);
  using Prospect = AheadStore::Prospect;
  for (const NodeId id : others) EXPECT_EQ(store.prospects.at(value(id)), Prospect::kNobodys);
  EXPECT_EQ(store.prospects.at(value(order[0])), Prospect::kWasRead);
  for (std::size_t i = 64; i < order.size(); ++i)
    EXPECT_EQ(store.prospects.at(value(order[i])), Prospect::kWillBeRead);
}

TEST_F(PrefetchTest, WhatOneJobHasReadIsStillSweptForAnother) {
  store.takes = false;
  store.room = 0;
  start({.at_once = 8, .window_bytes = 1 << 30});
  Process first;
  Process second;
  std::vector<NodeId> all = ids;
  all.insert(all.end(), others.begin(), others.end());
  for (const NodeId id : shuffled(1, all)) {
    open_as(first.pid, id);
    open_as(second.pid, id);
  }
  const auto order = shuffled(2, all);  // both are in their second epoch now
  for (std::size_t i = 0; i < 100; ++i) open_as(first.pid, order[i]);
  store.room = ~std::uint64_t{0};
  prefetch->wake();
  finish_all();
  EXPECT_EQ(std::set<std::string>(store.fetched.begin(), store.fetched.end()).size(), all.size());
}

}  // namespace
}  // namespace winnow
