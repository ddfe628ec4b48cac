// A prefetch over a small data set and a tier in which fetches end when the test says so.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "cache/directory_source.h"
#include "fs/prefetch.h"
#include "fs/snapshots.h"
#include "fs/state_dir.h"
#include "policy/random.h"
#include "tests/cache/temporary_folder.h"
#include "tests/fs/snapshot_maker.h"

namespace winnow {

inline constexpr std::uint64_t kFileBytes = 1000;

class FakeStore final : public AheadStore {
 public:
  bool holds(SampleId id, std::uint64_t) const override {
    ++looks;
    const std::lock_guard lock(mutex);
    return held.contains(value(id));
  }
  bool has_taken(const FileRef& file) const override { return holds(file.id, file.version.size); }
  std::uint64_t room_for(std::uint64_t file_bytes) const override { return file_bytes; }
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
  bool fetch(const FileRef& file, bool, Fetcher::Prefetched done) override {
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

  void follow_order(bool is_followed) override { follows = is_followed; }
  bool can_come_near(NodeId) const override { return names_near_are_known; }
  bool is_near(SampleId id, std::uint64_t) const override {
    const std::lock_guard lock(mutex);
    return std::find(near.begin(), near.end(), id) != near.end();
  }
  bool has_room_near(std::uint64_t bytes) const override {
    const std::lock_guard lock(mutex);
    return near.size() * kFileBytes + bytes <= room_near;
  }
  void bring_near(std::vector<FileRef> files, std::function<void()> done) override {
    {
      const std::lock_guard lock(mutex);
      for (const FileRef& file : files) near.push_back(file.id);
    }
    done();
  }

  void hold(SampleId id, bool is_held) {
    const std::lock_guard lock(mutex);
    if (is_held) {
      held.insert(value(id));
    } else {
      held.erase(value(id));
    }
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
  std::atomic<bool> follows{false};
  std::atomic<bool> names_near_are_known{true};
  std::atomic<std::uint64_t> room_near{0};
  std::vector<SampleId> near;  // in the order in which they were brought
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

}  // namespace winnow
