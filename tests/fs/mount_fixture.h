// All of a mount but FUSE itself: a real source in a temporary folder, the kernel's side scripted.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "cache/directory_source.h"
#include "fs/filesystem.h"
#include "fs/page_tier.h"
#include "fs/read_path.h"
#include "fs/snapshots.h"
#include "fs/state_dir.h"
#include "policy/registry.h"
#include "tests/cache/answer.h"
#include "tests/cache/faulty_source.h"
#include "tests/cache/temporary_folder.h"
#include "tests/fs/fake_kernel_cache.h"
#include "tests/fs/snapshot_maker.h"

namespace winnow {

class MountFixture : public testing::Test {
 protected:
  // After the data are there. Destroyed by stop(), or at the end.
  void start(std::uint64_t budget_bytes = 1 << 30, FetchOptions options = {.threads = 8},
             unsigned notification_threads = 1, OwnershipOptions ownership = {}) {
    take_snapshot(source, state, false, nullptr, progress);
    snapshots = std::make_unique<Snapshots>(source, state, false, state.open_tree());
    notifications = std::make_unique<WorkerPool>(
        WorkerPool::Options{.name = "test-notify", .max_threads = notification_threads});
    pages = std::make_unique<PageTier>(kernel, *snapshots, *notifications, budget_bytes,
                                       make_eviction(policy, ""), page_counts);
    reads = std::make_unique<ReadPath>(source, tier, *snapshots, kernel, *notifications, pages.get(), options);
    filesystem = std::make_unique<Filesystem>(ownership, *snapshots, *reads, pages.get());
  }
  void TearDown() override { stop(); }
  void stop() {
    source.release();
    if (reads) reads->stop();
    if (notifications) notifications->stop();
  }
  template <typename Condition>
  static void wait_until(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "waited in vain";
      std::this_thread::yield();
    }
  }

  NoTier tier;
  std::string policy = "lru";  // of the page cache
  Node node(const std::string& path) const { return at_path(*snapshots->tree(), path).value(); }
  NodeId id(const std::string& path) const { return node(path).id; }
  std::string read(const std::string& path, std::uint64_t offset = 0, std::size_t size = 1 << 20) {
    Answer answer;
    filesystem->read(id(path), offset, size, answer.waiter());
    return answer.text();
  }

  TemporaryFolder data;
  TemporaryFolder place;
  DirectorySource directory{data.path(), false};
  FaultySource source{directory};
  StateDir state{place / "state"};
  ScanProgress progress;
  FakeKernelCache kernel;
  PageCounts page_counts;
  std::unique_ptr<Snapshots> snapshots;
  std::unique_ptr<WorkerPool> notifications;
  std::unique_ptr<PageTier> pages;
  std::unique_ptr<ReadPath> reads;
  std::unique_ptr<Filesystem> filesystem;
};

}  // namespace winnow
