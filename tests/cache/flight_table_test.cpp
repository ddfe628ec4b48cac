#include "cache/flight_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <random>
#include <thread>

#include "tests/cache/answer.h"

namespace winnow {
namespace {

const FileRef kFile{SampleId{5}, "a/b.jpg", {.size = 100}};
const FileRef kOther{SampleId{6}, "a/c.jpg", {.size = 100}};
const FlightTable::Clock::time_point kNow{std::chrono::seconds(1000)};
const std::string kContent = "0123456789";

Range whole() { return {0, 10}; }

struct FlightTableTest : testing::Test {
  FlightPtr board(const FileRef& file, Range asked, Answer& answer, Range if_none = whole()) {
    return table.board(
        file, asked, [=] { return if_none; }, kNow, answer.waiter());
  }
  FlightTable table;
  Answer first;
  Answer second;
};

TEST_F(FlightTableTest, TheFirstReaderBooksAFlightOfTheRangeTold) {
  const FlightPtr flight = board(kFile, {2, 3}, first);
  ASSERT_NE(flight, nullptr);
  EXPECT_EQ(flight->range, whole());
  EXPECT_EQ(flight->file.path, "a/b.jpg");
  EXPECT_FALSE(first.arrived());
  EXPECT_EQ(table.aloft(), 1u);
}

TEST_F(FlightTableTest, ASecondReaderOfTheSameBytesJoinsTheFirst) {
  const FlightPtr flight = board(kFile, {2, 3}, first);
  EXPECT_EQ(board(kFile, {5, 2}, second), nullptr);
  EXPECT_EQ(table.aloft(), 1u);
  table.land(flight, to_bytes(kContent));
  EXPECT_EQ(first.text(), "234");
  EXPECT_EQ(second.text(), "56");
}

TEST_F(FlightTableTest, AReaderOfOtherBytesOfTheFileBooksItsOwn) {
  const FlightPtr one = board(kFile, {0, 4}, first, {0, 4});
  const FlightPtr two = board(kFile, {4, 4}, second, {4, 4});
  ASSERT_NE(two, nullptr);
  table.land(two, to_bytes("4567"));
  EXPECT_EQ(second.text(), "4567");
  EXPECT_FALSE(first.arrived());
  table.land(one, to_bytes("0123"));
  EXPECT_EQ(first.text(), "0123");
}

TEST_F(FlightTableTest, ARangeCoveredOnlyInPartIsNotJoined) {
  board(kFile, {0, 4}, first, {0, 4});
  EXPECT_NE(board(kFile, {2, 4}, second, {2, 4}), nullptr);
}

TEST_F(FlightTableTest, AReaderOfAnotherVersionBooksItsOwn) {
  const FlightPtr flight = board(kFile, {0, 4}, first);
  FileRef newer = kFile;
  ++newer.version.ctime.seconds;
  EXPECT_NE(board(newer, {0, 4}, second), nullptr);
  table.land(flight, to_bytes(kContent));
  Answer third;
  EXPECT_EQ(board(newer, {0, 4}, third), nullptr) << "joins the flight of its own version";
  EXPECT_FALSE(third.arrived());
}

TEST_F(FlightTableTest, FilesDoNotShareFlights) {
  board(kFile, {0, 4}, first);
  EXPECT_NE(board(kOther, {0, 4}, second), nullptr);
}

TEST_F(FlightTableTest, ALandedFlightAnswersAtOnceUntilRetired) {
  const FlightPtr flight = board(kFile, {0, 1}, first);
  table.land(flight, to_bytes(kContent));
  EXPECT_EQ(board(kFile, {8, 2}, second), nullptr);
  EXPECT_EQ(second.times(), 1);
  EXPECT_EQ(second.text(), "89");
  table.retire(flight);
  Answer third;
  EXPECT_NE(board(kFile, {8, 2}, third), nullptr);
}

TEST_F(FlightTableTest, AFailureReachesEveryReaderAndIsNotKept) {
  const FlightPtr flight = board(kFile, {0, 1}, first);
  board(kFile, {1, 1}, second);
  table.land(flight, errno_error(EACCES));
  EXPECT_EQ(first.error(), errno_error(EACCES));
  EXPECT_EQ(second.error(), errno_error(EACCES));
  Answer third;
  EXPECT_NE(board(kFile, {0, 1}, third), nullptr);
}

TEST_F(FlightTableTest, LandingTwiceAnswersOnce) {
  const FlightPtr flight = board(kFile, {0, 1}, first);
  table.land(flight, to_bytes(kContent));
  table.land(flight, errno_error(EIO));
  EXPECT_EQ(first.times(), 1);
}

TEST_F(FlightTableTest, ExpiryFailsOnlyFlightsBookedBefore) {
  const FlightPtr early = board(kFile, {0, 1}, first);
  const FlightPtr late = table.board(
      kOther, {0, 1}, [] { return whole(); }, kNow + std::chrono::seconds(5), second.waiter());
  Answer joined;
  board(kFile, {1, 1}, joined);
  EXPECT_EQ(table.expire(kNow + std::chrono::seconds(1), errno_error(EIO)), 2u);
  EXPECT_EQ(first.error(), errno_error(EIO));
  EXPECT_EQ(joined.error(), errno_error(EIO));
  EXPECT_FALSE(second.arrived());
  table.land(late, to_bytes(kContent));
  EXPECT_EQ(second.text(), "0");
}

TEST_F(FlightTableTest, AFlightThatLandsAfterItsExpiryAnswersNobodyAgain) {
  const FlightPtr flight = board(kFile, {0, 1}, first);
  table.expire(kNow + std::chrono::seconds(1), errno_error(EIO));
  Answer again;
  const FlightPtr retry = board(kFile, {0, 1}, again);
  ASSERT_NE(retry, nullptr);
  table.land(flight, to_bytes(kContent));
  table.retire(flight);
  EXPECT_EQ(first.times(), 1);
  EXPECT_FALSE(again.arrived());
  table.land(retry, to_bytes(kContent));
  EXPECT_EQ(again.text(), "0");
}

TEST_F(FlightTableTest, ALandedFlightDoesNotExpire) {
  const FlightPtr flight = board(kFile, {0, 1}, first);
  table.land(flight, to_bytes(kContent));
  EXPECT_EQ(table.expire(FlightTable::Clock::time_point::max(), errno_error(EIO)), 0u);
  EXPECT_EQ(board(kFile, {0, 1}, second), nullptr);
}

TEST_F(FlightTableTest, UnansweredIsWhatNoReaderWasGiven) {
  const FlightPtr flight = board(kFile, {2, 2}, first);
  board(kFile, {3, 3}, second);
  EXPECT_EQ(table.unanswered(flight), std::vector<Range>{whole()});
  table.land(flight, to_bytes(kContent));
  EXPECT_EQ(table.unanswered(flight), (std::vector<Range>{{0, 2}, {6, 4}}));
  Answer third;
  board(kFile, {0, 2}, third);
  EXPECT_EQ(table.unanswered(flight), (std::vector<Range>{{6, 4}}));
  Answer fourth;
  board(kFile, {6, 4}, fourth);
  EXPECT_TRUE(table.unanswered(flight).empty());
}

TEST_F(FlightTableTest, UnansweredCountsFromTheFlightsOwnOffset) {
  const FlightPtr flight = board(kFile, {40, 5}, first, {40, 10});
  table.land(flight, to_bytes(kContent));
  EXPECT_EQ(first.text(), "01234");
  EXPECT_EQ(table.unanswered(flight), (std::vector<Range>{{45, 5}}));
}

TEST_F(FlightTableTest, AReaderWaitsOnlyWhileItsFlightIsAloft) {
  EXPECT_FALSE(table.has_waiting_reader(kFile.id));
  const FlightPtr flight = board(kFile, {0, 1}, first);
  EXPECT_TRUE(table.has_waiting_reader(kFile.id));
  EXPECT_FALSE(table.has_waiting_reader(kOther.id));
  table.land(flight, to_bytes(kContent));
  EXPECT_FALSE(table.has_waiting_reader(kFile.id));
  EXPECT_EQ(table.aloft(), 0u);
}

TEST_F(FlightTableTest, WhatIsBookedAheadIsBookedOnce) {
  int told = 0;
  const FlightPtr flight = table.book(kFile, whole(), false, [&](Brought) { ++told; });
  ASSERT_NE(flight, nullptr);
  EXPECT_TRUE(flight->prefetched);
  EXPECT_EQ(table.book(kFile, {2, 3}, false, [&](Brought) { ++told; }), nullptr);
  EXPECT_EQ(table.aloft(), 1u);
  EXPECT_FALSE(table.has_waiting_reader(kFile.id)) << "nobody has asked for it";
  EXPECT_EQ(told, 0);
}

TEST_F(FlightTableTest, TheFirstToBoardAFlightThatHasNotBegunSeesToIt) {
  const FlightPtr flight = table.book(kFile, whole(), false, [](Brought) {});
  EXPECT_EQ(board(kFile, {2, 3}, first), flight);
  EXPECT_EQ(board(kFile, {5, 2}, second), nullptr);
  EXPECT_TRUE(table.has_waiting_reader(kFile.id));
  EXPECT_TRUE(table.begin(flight, kNow));
  EXPECT_FALSE(table.begin(flight, kNow)) << "begun twice";
  table.land(flight, to_bytes(kContent));
  EXPECT_EQ(first.text(), "234");
  EXPECT_EQ(second.text(), "56");
}

TEST_F(FlightTableTest, NobodySeesToAFlightThatHasBegun) {
  const FlightPtr flight = table.book(kFile, whole(), false, [](Brought) {});
  table.begin(flight, kNow);
  EXPECT_EQ(board(kFile, {2, 3}, first), nullptr);
  table.land(flight, errno_error(EACCES));
  EXPECT_EQ(first.error(), errno_error(EACCES));
}

TEST_F(FlightTableTest, WhoBoardsAPrefetchHasItsOwnTime) {
  using std::chrono::seconds;
  const FlightPtr flight = table.book(kFile, whole(), false, [](Brought) {});
  table.begin(flight, kNow - seconds(100));
  EXPECT_EQ(table.waiting_since(*flight), kNow - seconds(100));
  board(kFile, {2, 3}, first);
  EXPECT_EQ(table.waiting_since(*flight), kNow);
  EXPECT_EQ(table.expire(kNow - seconds(1), errno_error(EIO)), 0u);
  EXPECT_FALSE(first.arrived());
  EXPECT_EQ(table.expire(kNow, errno_error(EIO)), 1u);
  EXPECT_EQ(first.error(), errno_error(EIO));
}

TEST_F(FlightTableTest, AFlightThatWaitsForItsTurnForNobodyDoesNotExpire) {
  Brought brought = Brought::kFromSource;
  FlightPtr flight = table.book(kFile, whole(), false, [&](Brought what) { brought = what; });
  table.expire(kNow + std::chrono::hours(1), errno_error(EIO));
  EXPECT_EQ(table.aloft(), 1u);
  table.expire(FlightTable::Clock::time_point::max(), errno_error(EIO));
  EXPECT_EQ(table.aloft(), 0u);
  EXPECT_EQ(brought, Brought::kFromSource) << "somebody could still begin it";
  flight.reset();
  EXPECT_EQ(brought, Brought::kNothing);
}

TEST_F(FlightTableTest, AWaiterMayAskAgainFromWithinItsAnswer) {
  Answer again;
  FlightPtr rebooked;
  const FlightPtr flight = table.board(
      kFile, {0, 1}, [] { return whole(); }, kNow,
      [&](Result<Bytes>) {
        rebooked = board(kFile, {0, 1}, again);
      });
  table.land(flight, errno_error(ESTALE));
  EXPECT_NE(rebooked, nullptr);
}

TEST_F(FlightTableTest, ARetiredFlightLetsItsBytesGo) {
  auto data = std::make_shared_for_overwrite<std::byte[]>(10);
  const std::weak_ptr<std::byte[]> watched = data;
  const FlightPtr flight = table.board(
      kFile, {0, 1}, [] { return whole(); }, kNow, [](Result<Bytes>) {});
  table.land(flight, Bytes(std::move(data), 10));
  EXPECT_FALSE(watched.expired());
  table.retire(flight);
  EXPECT_TRUE(watched.expired());
}

TEST_F(FlightTableTest, ManyReadersAtOnceCauseOneFetchAndEachIsAnsweredOnce) {
  constexpr int kThreads = 8;
  constexpr int kReadsEach = 200;
  std::latch start(kThreads);
  std::atomic<int> booked{0};
  std::atomic<int> answered{0};
  std::mutex mutex;
  std::vector<FlightPtr> flights;
  std::vector<std::thread> readers;
  for (int t = 0; t < kThreads; ++t) {
    readers.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int i = 0; i < kReadsEach; ++i) {
        const Range asked{static_cast<std::uint64_t>((t + i) % 9), 2};
        const FlightPtr flight = table.board(
            kFile, asked, [] { return whole(); }, kNow,
            [&, asked](Result<Bytes> bytes) {
              EXPECT_EQ(to_text(bytes.value()), kContent.substr(asked.offset, 2));
              ++answered;
            });
        if (!flight) continue;
        ++booked;
        const std::lock_guard lock(mutex);
        flights.push_back(flight);
      }
    });
  }
  for (auto& reader : readers) reader.join();
  ASSERT_EQ(booked, 1);
  EXPECT_EQ(answered, 0);
  table.land(flights.front(), to_bytes(kContent));
  EXPECT_EQ(answered, kThreads * kReadsEach);
}

TEST_F(FlightTableTest, EveryReaderIsAnsweredOnceWhileFlightsLandFailExpireAndRetire) {
  constexpr int kThreads = 6;
  constexpr int kReadsEach = 2000;
  std::latch start(kThreads + 1);
  std::atomic<int> answers{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      start.arrive_and_wait();
      for (int i = 0; i < kReadsEach; ++i) {
        const FileRef file{SampleId{random() % 3 + 1}, "x", {.size = 10}};
        const FlightPtr flight = table.board(
            file, {random() % 5, 5}, [] { return whole(); }, kNow, [&](Result<Bytes>) { ++answers; });
        if (!flight) continue;
        if (random() % 4 == 0) {
          table.land(flight, errno_error(EIO));
        } else {
          table.land(flight, to_bytes(kContent));
          table.unanswered(flight);
          table.retire(flight);
        }
      }
    });
  }
  threads.emplace_back([&] {
    start.arrive_and_wait();
    while (!done) table.expire(FlightTable::Clock::time_point::max(), errno_error(EIO));
  });
  for (int t = 0; t < kThreads; ++t) threads[static_cast<std::size_t>(t)].join();
  done = true;
  threads.back().join();
  EXPECT_EQ(answers, kThreads * kReadsEach);
  EXPECT_EQ(table.aloft(), 0u);
}

}  // namespace
}  // namespace winnow
