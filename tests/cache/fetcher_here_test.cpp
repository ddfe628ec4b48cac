// What the tier has is read on its reader's thread, if that may wait; all else, and too many at once, in the pool.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "cache/directory_source.h"
#include "cache/fetcher.h"
#include "tests/cache/answer.h"
#include "tests/cache/faulty_source.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// Holds files as a test says, gives them from whichever thread asks, and notes which that was; reads may be made to wait.
class GatedTier final : public ByteTier {
 public:
  std::optional<Bytes> read(const FileRef& file, std::uint64_t offset, std::uint64_t size) override {
    std::unique_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
    if (loses_ || value(file.id) < first_held_) return std::nullopt;
    return to_bytes(pattern(file.version.size, static_cast<unsigned>(value(file.id)))).part(offset, size);
  }
  std::uint64_t held_from(const FileRef& file, std::uint64_t, std::uint64_t size) const override {
    return value(file.id) < first_held_ ? 0 : size;
  }
  void write(const FileRef&, std::uint64_t, const Bytes&) override {}
  void touch(SampleId) override {}
  std::uint64_t piece_bytes() const override { return kMiB; }

  void hold_from(std::uint64_t id) { first_held_ = id; }
  void lose() { loses_ = true; }
  void open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  bool wait_for_waiting(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return waiting_ == count; });
  }
  bool was_read_by(std::thread::id thread) {
    const std::lock_guard lock(mutex_);
    return threads_.contains(thread);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::thread::id> threads_;
  std::atomic<std::uint64_t> first_held_{0};
  std::atomic<bool> loses_{false};
  bool open_ = true;
  int waiting_ = 0;
};

struct FetcherHereTest : testing::Test {
  FetcherHereTest() {
    for (std::uint64_t i = 1; i <= 4; ++i) folder.file("f" + std::to_string(i), content(i));
  }
  ~FetcherHereTest() override { tier.open(true); }

  static std::string content(std::uint64_t i) { return pattern(10'000, static_cast<unsigned>(i)); }
  FileRef ref(std::uint64_t i) {
    const std::string path = "f" + std::to_string(i);
    return {SampleId{i}, path, directory.stat(path).value().version};
  }
  void start(unsigned waiting_callers, std::function<bool()> may_wait = [] { return true; }) {
    fetcher = std::make_unique<Fetcher>(
        source, tier, FetchOptions{.threads = 4, .caller_may_wait = may_wait, .waiting_callers = waiting_callers}, nullptr);
  }

  TemporaryFolder folder;
  DirectorySource directory{folder.path(), false};
  FaultySource source{directory};
  GatedTier tier;
  std::vector<Answer> answers = std::vector<Answer>(5);
  std::unique_ptr<Fetcher> fetcher;
};

TEST_F(FetcherHereTest, AReaderIsAnsweredBeforeTheCallReturns) {
  start(1);
  fetcher->read(ref(1), {100, 50}, answers[1].waiter());
  ASSERT_EQ(answers[1].times(), 1);
  EXPECT_EQ(answers[1].text(), content(1).substr(100, 50));
  EXPECT_TRUE(tier.was_read_by(std::this_thread::get_id()));
  EXPECT_EQ(source.reads(), 0);
}

TEST_F(FetcherHereTest, ACallerThatMayNotWaitDoesNot) {
  start(1, [] { return false; });
  fetcher->read(ref(1), {0, 10}, answers[1].waiter());
  EXPECT_EQ(answers[1].text(), content(1).substr(0, 10));
  EXPECT_FALSE(tier.was_read_by(std::this_thread::get_id()));
}

TEST_F(FetcherHereTest, OnlySoManyCallersWaitAtOnce) {
  start(1);
  tier.open(false);
  std::thread waiter([&] { fetcher->read(ref(1), {0, 10}, answers[1].waiter()); });
  ASSERT_TRUE(tier.wait_for_waiting(1));
  fetcher->read(ref(2), {0, 10}, answers[2].waiter());  // returns: the pool waits for it
  ASSERT_TRUE(tier.wait_for_waiting(2));
  EXPECT_FALSE(tier.was_read_by(std::this_thread::get_id()));
  tier.open(true);
  waiter.join();
  EXPECT_EQ(answers[1].text(), content(1).substr(0, 10));
  EXPECT_EQ(answers[2].text(), content(2).substr(0, 10));
  fetcher->read(ref(3), {0, 10}, answers[3].waiter());
  EXPECT_TRUE(answers[3].arrived()) << "the one that waited does no longer";
}

TEST_F(FetcherHereTest, WhoeverComesMeanwhileIsAnsweredByTheSameRead) {
  start(2);
  tier.open(false);
  std::thread waiter([&] { fetcher->read(ref(1), {0, 10}, answers[1].waiter()); });
  ASSERT_TRUE(tier.wait_for_waiting(1));
  fetcher->read(ref(1), {10, 10}, answers[2].waiter());
  EXPECT_FALSE(answers[2].arrived());
  tier.open(true);
  waiter.join();
  EXPECT_EQ(answers[1].text() + answers[2].text(), content(1).substr(0, 20));
}

TEST_F(FetcherHereTest, WhatTheTierLosesMeanwhileComesFromTheSourceOnce) {
  start(1);
  tier.lose();
  fetcher->read(ref(1), {0, 10}, answers[1].waiter());
  EXPECT_EQ(answers[1].text(), content(1).substr(0, 10));
  EXPECT_EQ(answers[1].times(), 1);
  EXPECT_EQ(source.reads(), 1);
}

TEST_F(FetcherHereTest, NobodyWaitsForWhatTheTierLacksOrForALargePart) {
  folder.file("f4", pattern(2 * kMiB, 4));
  start(1);
  fetcher->read(ref(4), {0, 10}, answers[4].waiter());
  EXPECT_EQ(answers[4].text(), pattern(2 * kMiB, 4).substr(0, 10));
  EXPECT_FALSE(tier.was_read_by(std::this_thread::get_id()));
  tier.hold_from(2);
  fetcher->read(ref(1), {0, 10}, answers[1].waiter());
  EXPECT_EQ(answers[1].text(), content(1).substr(0, 10));
  EXPECT_FALSE(tier.was_read_by(std::this_thread::get_id()));
}

TEST_F(FetcherHereTest, OneBookedAheadIsReadHereIfItHasNotBegunAndToldSo) {
  start(1);
  source.stall();
  tier.hold_from(4);
  for (std::uint64_t i = 1; i <= 3; ++i) fetcher->prefetch(ref(i), {0, 10'000}, [](Brought) {});
  ASSERT_TRUE(source.wait_for_stalled(3)) << "all that may fetch ahead do";
  std::vector<Brought> told;
  fetcher->prefetch(ref(4), {0, 10'000}, [&](Brought brought) { told.push_back(brought); });
  fetcher->read(ref(4), {0, 10}, answers[4].waiter());
  EXPECT_TRUE(answers[4].arrived());
  EXPECT_EQ(told, std::vector{Brought::kFromTier});
  source.release();
  fetcher->stop();
  EXPECT_EQ(told.size(), 1u);
}

}  // namespace
}  // namespace winnow
