#include "cache/fetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "cache/directory_source.h"
#include "tests/cache/answer.h"
#include "tests/cache/faulty_source.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kKiB = 1024;

struct FetcherTest : testing::Test {
  FetcherTest() {
    folder.file("small", small);
    folder.file("large", large);
  }

  FileRef ref(const std::string& path, std::uint64_t id) {
    return {SampleId{id}, path, directory.stat(path).value().version};
  }
  void start(FetchOptions options = {.whole_file_bytes = 64 * kKiB, .threads = 8}) {
    fetcher = std::make_unique<Fetcher>(source, tier, options, landed);
  }

  TemporaryFolder folder;
  const std::string small = pattern(10'000);
  const std::string large = pattern(1024 * kKiB + 77);
  DirectorySource directory{folder.path(), false};
  FaultySource source{directory};
  NoTier tier;
  Fetcher::Landed landed;
  Answer first;
  Answer second;
  std::unique_ptr<Fetcher> fetcher;
};

TEST_F(FetcherTest, AReaderGetsTheBytesAsked) {
  start();
  fetcher->read(ref("small", 2), {100, 50}, first.waiter());
  EXPECT_EQ(first.text(), small.substr(100, 50));
}

TEST_F(FetcherTest, ASmallFileIsFetchedWhole) {
  start();
  fetcher->read(ref("small", 2), {4096, 10}, first.waiter());
  ASSERT_TRUE(first.wait().has_value());
  ASSERT_EQ(source.reads(), 1);
  EXPECT_EQ(source.ranges()[0].offset, 0u);
  EXPECT_EQ(source.ranges()[0].size, small.size());
}

TEST_F(FetcherTest, AFileOfExactlyTheLimitIsFetchedWholeAndOneByteMoreIsNot) {
  folder.file("limit", pattern(64 * kKiB));
  folder.file("more", pattern(64 * kKiB + 1));
  start();
  fetcher->read(ref("limit", 2), {0, 10}, first.waiter());
  ASSERT_TRUE(first.wait().has_value());
  EXPECT_EQ(source.ranges().back().size, 64 * kKiB);
  fetcher->read(ref("more", 3), {0, 10}, second.waiter());
  ASSERT_TRUE(second.wait().has_value());
  EXPECT_LT(source.ranges().back().size, 64 * kKiB);
}

TEST_F(FetcherTest, WholeFilesAreThoseUpToEightMebibytes) {
  EXPECT_EQ(FetchOptions{}.whole_file_bytes, 8u << 20);
}

TEST_F(FetcherTest, ALargeFileIsFetchedInGrowingWindows) {
  start();
  const FileRef file = ref("large", 3);
  std::uint64_t at = 0;
  for (int i = 0; i < 3; ++i) {
    Answer answer;
    fetcher->read(file, {at, 4096}, answer.waiter());
    EXPECT_EQ(answer.text(), large.substr(at, 4096));
    at = source.ranges().back().end();
  }
  const auto ranges = source.ranges();
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0].size, 4096u);
  EXPECT_EQ(ranges[1].size, 8192u);
  EXPECT_EQ(ranges[2].size, 16384u);
}

TEST_F(FetcherTest, TheEndOfALargeFileIsExact) {
  start();
  fetcher->read(ref("large", 3), {1024 * kKiB, 77}, first.waiter());
  EXPECT_EQ(first.text(), large.substr(1024 * kKiB));
}

TEST_F(FetcherTest, AHundredReadersOfOneFileCauseOneRead) {
  start();
  source.stall();
  const FileRef file = ref("small", 2);
  std::vector<Answer> answers(100);
  for (std::size_t i = 0; i < answers.size(); ++i) fetcher->read(file, {i * 100, 100}, answers[i].waiter());
  ASSERT_TRUE(source.wait_for_stalled(1));
  EXPECT_EQ(fetcher->counts().in_flight, 1u);
  EXPECT_TRUE(fetcher->has_waiting_reader(file.id));
  source.release();
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].text(), small.substr(i * 100, 100));
  EXPECT_EQ(source.reads(), 1);
  EXPECT_EQ(fetcher->counts().fetches, 1u);
  EXPECT_EQ(fetcher->counts().bytes, small.size());
}

TEST_F(FetcherTest, AStalledFileDoesNotHoldUpAnother) {
  start();
  source.stall();
  fetcher->read(ref("small", 2), {0, 1}, first.waiter());
  ASSERT_TRUE(source.wait_for_stalled(1));
  fetcher->read(ref("large", 3), {0, 1}, second.waiter());
  EXPECT_TRUE(source.wait_for_stalled(2)) << "the second fetch waits for the first";
  source.release();
  ASSERT_TRUE(first.wait().has_value());
}

TEST_F(FetcherTest, APassingFailureIsTriedAgain) {
  start();
  source.fail_next(EIO);
  fetcher->read(ref("small", 2), {0, 10}, first.waiter());
  EXPECT_EQ(first.text(), small.substr(0, 10));
  EXPECT_EQ(source.reads(), 2);
  EXPECT_EQ(fetcher->counts().retries, 1u);
  EXPECT_EQ(fetcher->counts().failures, 0u);
}

TEST_F(FetcherTest, AChangedMissingOrRefusedFileIsNotTriedAgain) {
  start();
  for (const int code : {ESTALE, ENOENT, EACCES}) {
    Answer answer;
    source.fail_next(code);
    fetcher->read(ref("small", 2), {0, 10}, answer.waiter());
    EXPECT_EQ(answer.error(), errno_error(code));
  }
  EXPECT_EQ(source.reads(), 3);
  EXPECT_EQ(fetcher->counts().failures, 3u);
  EXPECT_EQ(fetcher->counts().retries, 0u);
}

TEST_F(FetcherTest, AFailureIsNotRemembered) {
  start();
  source.fail_next(EACCES);
  fetcher->read(ref("small", 2), {0, 10}, first.waiter());
  EXPECT_EQ(first.error(), errno_error(EACCES));
  fetcher->read(ref("small", 2), {0, 10}, second.waiter());
  EXPECT_EQ(second.text(), small.substr(0, 10));
}

TEST_F(FetcherTest, ASourceThatKeepsFailingGivesEioAtTheTimeout) {
  start({.whole_file_bytes = 64 * kKiB, .threads = 2, .source_timeout = 150ms});
  source.fail_every_read(ENOTCONN);
  fetcher->read(ref("small", 2), {0, 10}, first.waiter());
  EXPECT_EQ(first.error(), errno_error(EIO));
  EXPECT_EQ(first.times(), 1);
}

TEST_F(FetcherTest, ASourceThatHangsGivesEioAtTheTimeoutAndTheAnswerComesOnce) {
  start({.whole_file_bytes = 64 * kKiB, .threads = 2, .source_timeout = 50ms});
  source.stall();
  fetcher->read(ref("small", 2), {0, 10}, first.waiter());
  EXPECT_EQ(first.error(), errno_error(EIO));
  while (fetcher->counts().timeouts == 0) std::this_thread::yield();  // counted just after the answer
  EXPECT_EQ(fetcher->counts().timeouts, 1u);
  source.release();
  fetcher.reset();
  EXPECT_EQ(first.times(), 1);
}

TEST_F(FetcherTest, AReaderAfterATimeoutStartsAnew) {
  start({.whole_file_bytes = 64 * kKiB, .threads = 4, .source_timeout = 50ms});
  source.stall();
  fetcher->read(ref("small", 2), {0, 10}, first.waiter());
  EXPECT_EQ(first.error(), errno_error(EIO));
  source.release();
  fetcher->read(ref("small", 2), {0, 10}, second.waiter());
  EXPECT_EQ(second.text(), small.substr(0, 10));
}

TEST_F(FetcherTest, StoppingAnswersReadersThatWait) {
  start();
  source.stall();
  fetcher->read(ref("small", 2), {0, 10}, first.waiter());
  ASSERT_TRUE(source.wait_for_stalled(1));
  std::thread stopper([&] { fetcher->stop(); });
  EXPECT_EQ(first.error(), errno_error(EIO));
  source.release();
  stopper.join();
  EXPECT_EQ(first.times(), 1);
}

TEST_F(FetcherTest, StoppingEndsAPauseBetweenTries) {
  start();
  source.fail_every_read(EIO);
  fetcher->read(ref("small", 2), {0, 10}, first.waiter());
  fetcher->stop();
  EXPECT_EQ(first.error(), errno_error(EIO));
}

TEST_F(FetcherTest, AReadAfterTheStopIsAnsweredToo) {
  start();
  fetcher->stop();
  fetcher->read(ref("small", 2), {0, 10}, first.waiter());
  ASSERT_EQ(first.times(), 1) << "a waiter is called once, always";
  EXPECT_EQ(first.error(), errno_error(EIO));
}

TEST_F(FetcherTest, WithoutATakerALandedFlightIsRetired) {
  start();
  fetcher->read(ref("small", 2), {0, 10}, first.waiter());
  ASSERT_TRUE(first.wait().has_value());
  fetcher->stop();
  EXPECT_EQ(fetcher->counts().in_flight, 0u);
}

TEST_F(FetcherTest, WhoeverTakesALandedFlightSeesWhatNobodyWasGiven) {
  std::vector<Range> missing;
  std::string content;
  landed = [&](const FlightPtr& flight, const Bytes& bytes) {
    missing = fetcher->unanswered(flight);
    content = to_text(bytes);
  };
  start();
  fetcher->read(ref("small", 2), {0, 4096}, first.waiter());
  ASSERT_TRUE(first.wait().has_value());
  fetcher->stop();  // returns when the flight has been taken
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].offset, 4096u);
  EXPECT_EQ(missing[0].end(), small.size());
  EXPECT_EQ(content, small);
}

TEST_F(FetcherTest, AnUnretiredFlightAnswersWithoutAnotherRead) {
  std::promise<FlightPtr> taken;
  std::atomic<int> landings{0};
  landed = [&](const FlightPtr& flight, const Bytes&) {
    if (++landings == 1) taken.set_value(flight);
  };
  start();
  fetcher->read(ref("small", 2), {0, 10}, first.waiter());
  const FlightPtr kept = taken.get_future().get();
  fetcher->read(ref("small", 2), {500, 10}, second.waiter());
  EXPECT_EQ(second.times(), 1);
  EXPECT_EQ(second.text(), small.substr(500, 10));
  EXPECT_EQ(source.reads(), 1);
  fetcher->retire(kept);
  Answer third;
  fetcher->read(ref("small", 2), {500, 10}, third.waiter());
  ASSERT_TRUE(third.wait().has_value());
  EXPECT_EQ(source.reads(), 2);
  fetcher.reset();  // what was landing has landed, while our variables are there
}

TEST_F(FetcherTest, ManyThreadsReadingManyFilesGetExactBytes) {
  for (int i = 0; i < 8; ++i) folder.file("f" + std::to_string(i), pattern(20'000, static_cast<unsigned>(i)));
  start({.whole_file_bytes = 8 * kKiB, .in_flight_bytes = 64 * kKiB, .threads = 6});
  std::vector<FileRef> files;
  for (std::uint64_t i = 0; i < 8; ++i) files.push_back(ref("f" + std::to_string(i), i + 2));
  std::vector<std::thread> readers;
  for (unsigned t = 0; t < 4; ++t) {
    readers.emplace_back([&, t] {
      for (unsigned i = 0; i < 100; ++i) {
        const unsigned which = (t * 3 + i) % 8;
        const std::uint64_t at = (i * 997) % 19'000;
        Answer answer;
        fetcher->read(files[which], {at, 1000}, answer.waiter());
        ASSERT_EQ(answer.text(), pattern(20'000, which).substr(at, 1000));
      }
    });
  }
  for (auto& reader : readers) reader.join();
}

}  // namespace
}  // namespace winnow
