// Fetching ahead of readers: beneath what they ask for, and for them as soon as they ask.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <future>
#include <map>
#include <semaphore>
#include <set>
#include <thread>

#include "cache/directory_source.h"
#include "cache/fetcher.h"
#include "tests/cache/answer.h"
#include "tests/cache/disk/disk_fixture.h"
#include "tests/cache/faulty_source.h"

namespace winnow {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

// How a prefetch ended, and how often it said so.
class Ending {
 public:
  Prefetched done() {
    return [this](Brought brought) {
      if (++times_ == 1) brought_.set_value(brought);
    };
  }
  Brought wait() { return result_.wait_for(20s) == std::future_status::ready ? result_.get() : Brought::kNothing; }
  int times() const { return times_; }

 private:
  std::atomic<int> times_{0};
  std::promise<Brought> brought_;
  std::shared_future<Brought> result_ = brought_.get_future().share();
};

struct FetcherPrefetchTest : testing::Test {
  FetcherPrefetchTest() {
    for (std::uint64_t i = 1; i <= 6; ++i)
      folder.file("f" + std::to_string(i), pattern(10'000, static_cast<unsigned>(i)));
  }
  ~FetcherPrefetchTest() override { source.release(); }

  FileRef ref(std::uint64_t i) {
    const std::string path = "f" + std::to_string(i);
    return {SampleId{i}, path, directory.stat(path).value().version};
  }
  Range whole() const { return {0, 10'000}; }
  std::string content(std::uint64_t i) const { return pattern(10'000, static_cast<unsigned>(i)); }
  void start(FetchOptions options) { fetcher = std::make_unique<Fetcher>(source, none, options, nullptr); }
  bool prefetch(std::uint64_t i) { return fetcher->prefetch(ref(i), whole(), endings[i].done()); }

  TemporaryFolder folder;
  DirectorySource directory{folder.path(), false};
  FaultySource source{directory};
  NoTier none;
  std::vector<Ending> endings = std::vector<Ending>(7);
  Answer first;
  Answer second;
  std::unique_ptr<Fetcher> fetcher;
};

TEST_F(FetcherPrefetchTest, BringsARangeAndSaysSoOnce) {
  start({.threads = 4});
  ASSERT_TRUE(prefetch(1));
  EXPECT_EQ(endings[1].wait(), Brought::kFromSource);
  fetcher->stop();
  EXPECT_EQ(endings[1].times(), 1);
  EXPECT_EQ(fetcher->counts().prefetches, 1u);
}

TEST_F(FetcherPrefetchTest, NeverBooksMoreThanAWindow) {
  start({.whole_file_bytes = 8'000, .threads = 4});
  EXPECT_FALSE(prefetch(1));
  EXPECT_EQ(source.reads(), 0);
  EXPECT_TRUE(fetcher->prefetch(ref(1), {0, 8'000}, endings[1].done()));
  EXPECT_EQ(endings[1].wait(), Brought::kFromSource);
  EXPECT_EQ(source.ranges().back().size, 8'000u);
}

TEST_F(FetcherPrefetchTest, AReaderWhoComesMeanwhileBoardsIt) {
  start({.threads = 4});
  source.stall();
  ASSERT_TRUE(prefetch(1));
  ASSERT_TRUE(source.wait_for_stalled(1));
  EXPECT_FALSE(prefetch(1)) << "it is being fetched";
  fetcher->read(ref(1), {100, 50}, first.waiter());
  source.release();
  EXPECT_EQ(first.text(), content(1).substr(100, 50));
  EXPECT_EQ(endings[1].wait(), Brought::kFromSource);
  EXPECT_EQ(source.reads(), 1);
}

TEST_F(FetcherPrefetchTest, WhatAReaderAsksForDoesNotWaitForStalledPrefetches) {
  start({.whole_file_bytes = 16'000, .in_flight_bytes = 50'000, .threads = 16});
  source.stall();
  for (const std::uint64_t i : {1, 2, 3, 4, 5}) ASSERT_TRUE(prefetch(i));
  ASSERT_TRUE(source.wait_for_stalled(2));
  EXPECT_FALSE(source.wait_for_stalled(3, 50ms)) << "prefetches take more than their half";
  fetcher->read(ref(6), {0, 10}, first.waiter());
  EXPECT_TRUE(source.wait_for_stalled(3)) << "prefetches hold all there is";
  source.release();
  EXPECT_EQ(first.text(), content(6).substr(0, 10));
  for (const std::uint64_t i : {1, 2, 3, 4, 5}) EXPECT_EQ(endings[i].wait(), Brought::kFromSource);
}

TEST_F(FetcherPrefetchTest, AQueuedPrefetchGoesAtOnceWhenAReaderBoardsIt) {
  start({.threads = 4});  // three for prefetches
  source.stall();
  for (const std::uint64_t i : {1, 2, 3, 4}) ASSERT_TRUE(prefetch(i));
  ASSERT_TRUE(source.wait_for_stalled(3));
  fetcher->read(ref(4), {7, 5}, first.waiter());
  EXPECT_TRUE(source.wait_for_stalled(4)) << "the reader waits behind prefetches";
  fetcher->read(ref(4), {0, 5}, second.waiter());
  source.release();
  EXPECT_EQ(first.text(), content(4).substr(7, 5));
  EXPECT_EQ(second.text(), content(4).substr(0, 5));
  for (const std::uint64_t i : {1, 2, 3, 4}) EXPECT_EQ(endings[i].wait(), Brought::kFromSource);
  fetcher->stop();
  EXPECT_EQ(endings[4].times(), 1);
  EXPECT_EQ(source.reads(), 4) << "fetched twice";
}

TEST_F(FetcherPrefetchTest, AFailureIsToldAndNotRemembered) {
  start({.threads = 4});
  source.fail_next(EACCES);
  ASSERT_TRUE(prefetch(1));
  EXPECT_EQ(endings[1].wait(), Brought::kNothing);
  fetcher->read(ref(1), {0, 10}, first.waiter());
  EXPECT_EQ(first.text(), content(1).substr(0, 10));
}

TEST_F(FetcherPrefetchTest, StoppingTellsAlsoThoseThatNeverBegan) {
  start({.threads = 1});
  source.stall();
  ASSERT_TRUE(prefetch(1));
  ASSERT_TRUE(source.wait_for_stalled(1));
  ASSERT_TRUE(prefetch(2));
  ASSERT_TRUE(prefetch(3));
  fetcher->read(ref(3), {0, 10}, first.waiter());
  std::thread stopper([&] { fetcher->stop(); });
  EXPECT_EQ(first.error(), errno_error(EIO));
  std::deque<Ending> refused;  // the last one, at once: from then on nothing begins
  do {
    std::this_thread::sleep_for(1ms);  // between looks: nobody tells that it has stopped
    const Range another{refused.size(), 1};
    fetcher->prefetch(ref(4), another, refused.emplace_back().done());
  } while (refused.back().times() == 0);
  source.release();
  stopper.join();
  EXPECT_EQ(endings[2].wait(), Brought::kNothing);
  EXPECT_EQ(endings[3].wait(), Brought::kNothing);
  for (const std::uint64_t i : {1, 2, 3}) EXPECT_EQ(endings[i].times(), 1) << i;
  EXPECT_TRUE(prefetch(4));
  EXPECT_EQ(endings[4].wait(), Brought::kNothing) << "after the end, too";
}

// A tier that holds whatever it is told to, and whose reads of several files wait to be let go.
class HeldTier final : public ByteTier {
 public:
  explicit HeldTier(std::function<std::string(SampleId)> content) : content_(std::move(content)) {}
  std::optional<Bytes> read(const FileRef& file, std::uint64_t offset, std::uint64_t size) override {
    const std::lock_guard lock(mutex_);
    if (!held_.contains(value(file.id))) return std::nullopt;
    const std::string text = content_(file.id);
    const std::shared_ptr<std::byte[]> data(new std::byte[text.size()]);
    std::memcpy(data.get(), text.data(), text.size());
    return Bytes(data, text.size()).part(offset, size);
  }
  std::vector<std::optional<Bytes>> read_each(std::span<const FileRef> files) override {
    asked_.release();
    go_on_.acquire();
    return ByteTier::read_each(files);
  }
  std::uint64_t held_from(const FileRef&, std::uint64_t, std::uint64_t) const override { return 0; }
  void write(const FileRef&, std::uint64_t, const Bytes&) override {}
  void touch(SampleId) override {}
  std::uint64_t piece_bytes() const override { return kMiB; }

  void hold(std::uint64_t id, bool is_held) {
    const std::lock_guard lock(mutex_);
    is_held ? (void)held_.insert(id) : (void)held_.erase(id);
  }
  void wait_until_asked() { asked_.acquire(); }
  void go_on() { go_on_.release(); }

 private:
  const std::function<std::string(SampleId)> content_;
  std::mutex mutex_;
  std::set<std::uint64_t> held_;
  std::counting_semaphore<> asked_{0}, go_on_{0};
};

struct FetcherNearTest : FetcherPrefetchTest {
  FetcherNearTest() {
    for (const std::uint64_t i : {1, 2, 3}) tier.hold(i, true);
    fetcher = std::make_unique<Fetcher>(source, tier, FetchOptions{.threads = 4}, nullptr);
  }
  // On a thread of its own, as it blocks; joined by end().
  void bring(std::vector<std::uint64_t> which) {
    std::vector<FileRef> files;
    for (const std::uint64_t i : which) files.push_back(ref(i));
    thread = std::thread([this, files] {
      fetcher->bring_from_tier(files, [this](const FlightPtr& flight, const Bytes& bytes) {
        landed[value(flight->file.id)] = text_of(bytes);
        fetcher->retire(flight);
      });
    });
    tier.wait_until_asked();
  }
  void end() {
    tier.go_on();
    thread.join();
  }

  HeldTier tier{[this](SampleId id) { return content(value(id)); }};
  std::map<std::uint64_t, std::string> landed;
  std::thread thread;
};

TEST_F(FetcherNearTest, BringsWhatTheTierHolds) {
  bring({1, 2, 3});
  end();
  EXPECT_EQ(landed.size(), 3u);
  for (const auto& [id, text] : landed) EXPECT_EQ(text, content(id));
  EXPECT_EQ(source.reads(), 0);
}

TEST_F(FetcherNearTest, AReaderWhoComesMeanwhileBoards) {
  bring({1, 2});
  fetcher->read(ref(2), {7, 5}, first.waiter());
  end();
  EXPECT_EQ(first.text(), content(2).substr(7, 5));
  EXPECT_EQ(source.reads(), 0);
  EXPECT_EQ(fetcher->counts().in_flight, 0u);
}

TEST_F(FetcherNearTest, WhatIsBeingFetchedIsLeftAlone) {
  source.stall();
  fetcher->read(ref(4), {0, 5}, first.waiter());
  ASSERT_TRUE(source.wait_for_stalled(1));
  bring({4, 1});
  end();
  EXPECT_EQ(landed.size(), 1u);
  EXPECT_TRUE(landed.contains(1));
  source.release();
  EXPECT_EQ(first.text(), content(4).substr(0, 5));
  EXPECT_EQ(source.reads(), 1);
}

TEST_F(FetcherNearTest, WhatTheTierLostComesFromTheSourceForWhoBoarded) {
  bring({1, 2});
  fetcher->read(ref(2), {0, 5}, first.waiter());
  tier.hold(2, false);
  end();
  EXPECT_EQ(first.text(), content(2).substr(0, 5));
  EXPECT_TRUE(landed.contains(1));
  EXPECT_EQ(source.reads(), 1);
}

// A large file beside a disk tier, asked for as the kernel does: by requests that do not end where chunks do.
TEST_F(FetcherPrefetchTest, ALargeFileReadOnceIsOnTheDiskAndNoByteOfItIsFetchedTwice) {
  const std::string large = pattern(20 * kMiB + 777);
  folder.file("f1", large);
  const TemporaryFolder place;
  DiskTier disk(disk_options(place.path(), 64 * kMiB));
  fetcher = std::make_unique<Fetcher>(source, disk, FetchOptions{}, nullptr);
  const auto read_all = [&](std::uint64_t first_size) {
    for (std::uint64_t at = 0, size = first_size; at < large.size(); at += size, size = kMiB) {
      Answer answer;
      const Range asked{at, std::min<std::uint64_t>(size, large.size() - at)};
      fetcher->read(ref(1), asked, answer.waiter());
      ASSERT_EQ(answer.text(), large.substr(asked.offset, asked.size)) << at;
    }
  };
  read_all(300 * kKiB);
  std::uint64_t fetched = 0;
  for (const Range& range : source.ranges()) fetched += range.size;
  EXPECT_EQ(fetched, large.size());
  disk.flush();
  EXPECT_TRUE(disk.contains(ref(1)));
  const int before = source.reads();
  read_all(700 * kKiB);
  EXPECT_EQ(source.reads(), before) << "not all of it was kept";
  fetcher->stop();
}

}  // namespace
}  // namespace winnow
