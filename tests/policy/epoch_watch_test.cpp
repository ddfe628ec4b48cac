#include "policy/epoch_watch.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "policy/cache_importance.h"
#include "policy/random.h"
#include "policy/sweep_queue.h"

namespace winnow {
namespace {

using Seen = EpochWatch::Seen;

std::vector<std::uint64_t> shuffled(std::uint64_t count, std::uint64_t seed, std::uint64_t first = 0) {
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  Random random(seed);
  for (std::size_t i = ids.size() - 1; i > 0; --i) std::swap(ids[i], ids[random.below(i + 1)]);
  return ids;
}

// Reads them, each `times` in a row; the reads at which something was seen, from 1.
struct Reader {
  explicit Reader(std::uint64_t samples) : watch(samples) {}
  void read(const std::vector<std::uint64_t>& ids, int times = 1) {
    for (const std::uint64_t id : ids) {
      ++count;
      const bool in_order = id > last;
      last = id;
      for (int i = 0; i < times; ++i) {
        const Seen seen = watch.on_read(SampleId{id}, EpochWatch::Step{.behind_by_name = in_order});
        if (seen == Seen::kJob) jobs.push_back(count);
        if (seen == Seen::kEpochEnd) ends.push_back(count);
      }
    }
  }
  EpochWatch watch;
  std::uint64_t last = 0;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> jobs;
  std::vector<std::uint64_t> ends;
};

TEST(EpochWatch, AShuffledReaderIsAJobSoonAndItsEpochsEndWithTheirLastSample) {
  Reader reader(1000);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) reader.read(shuffled(1000, epoch));
  EXPECT_EQ(reader.jobs, (std::vector<std::uint64_t>{32}));
  EXPECT_EQ(reader.ends, (std::vector<std::uint64_t>{1000, 2000, 3000}));
}

TEST(EpochWatch, AJobThatReadsOnlyPartOfTheDataSetIsSeenToBeginAnew) {
  Reader reader(5000);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) reader.read(shuffled(1000, epoch, 700));
  ASSERT_EQ(reader.ends.size(), 3u);
  EXPECT_GT(reader.ends[0], 1000u);  // the first epoch's end shows in what is read again
  EXPECT_LE(reader.ends[0], 1000u + 80);
  EXPECT_EQ(reader.ends[1], 2000u);  // from then on it is known how much there is
  EXPECT_EQ(reader.ends[2], 3000u);
  EXPECT_TRUE(reader.watch.expects(SampleId{700}));
  EXPECT_FALSE(reader.watch.expects(SampleId{699}));
}

TEST(EpochWatch, WhatWasReadSinceTheFirstRepeatedReadBelongsToTheNewEpoch) {
  Reader reader(5000);
  const auto second = shuffled(1000, 2);
  reader.read(shuffled(1000, 1));
  std::size_t read = 0;
  while (reader.ends.empty()) reader.read({second[read++]});
  EXPECT_GE(reader.watch.reads() + 8, read);
  for (std::size_t i = read - 16; i < read; ++i) EXPECT_TRUE(reader.watch.has_read(SampleId{second[i]}));
  EXPECT_FALSE(reader.watch.has_read(SampleId{second[read]}));
}

TEST(EpochWatch, AWalkInOrderIsNoJobUntilItComesAgain) {
  Reader reader(1000);
  std::vector<std::uint64_t> ids(1000);
  std::iota(ids.begin(), ids.end(), 0);
  reader.read(ids);
  EXPECT_FALSE(reader.watch.is_job());
  reader.read(ids);
  EXPECT_TRUE(reader.watch.is_job());
  EXPECT_EQ(reader.jobs, (std::vector<std::uint64_t>{1032}));
}

TEST(EpochWatch, OpeningEachFileThreeTimesIsOneRead) {
  Reader reader(1000);
  reader.read(shuffled(1000, 1), 3);
  reader.read(shuffled(1000, 2), 3);
  EXPECT_EQ(reader.ends, (std::vector<std::uint64_t>{1000, 2000}));
}

TEST(EpochWatch, PartsThatDifferFromEpochToEpochAreExpectedToBeAnything) {
  Reader reader(1000);
  for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
    auto ids = shuffled(1000, epoch);
    ids.resize(500);
    reader.read(ids);
  }
  EXPECT_FALSE(reader.ends.empty());
  for (std::uint64_t id = 0; id < 1000; ++id) ASSERT_TRUE(reader.watch.expects(SampleId{id}));
}

TEST(EpochWatch, SmallDataSetsHaveEpochsToo) {
  Reader reader(20);
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) reader.read(shuffled(20, epoch));
  EXPECT_TRUE(reader.watch.is_job());
  EXPECT_EQ(reader.watch.epoch(), 6u);
}

// One of `ranks` parts of a data set that is dealt anew each epoch.
std::vector<std::uint64_t> part(std::uint64_t count, std::uint64_t epoch, std::uint64_t ranks) {
  auto ids = shuffled(count, epoch);
  ids.resize(count / ranks);
  return ids;
}

TEST(EpochWatch, ARankWhosePartIsDealtAnewHasEpochsOfItsPart) {
  for (const std::uint64_t ranks : {2, 4, 8}) {
    Reader reader(2000);
    for (std::uint64_t epoch = 0; epoch < 8; ++epoch) reader.read(part(2000, epoch, ranks));
    EXPECT_GE(reader.watch.epoch(), 7u) << ranks;
    EXPECT_LE(reader.watch.epoch(), 9u) << ranks;
    EXPECT_LE(reader.ends.at(0), 2000 / ranks + 128) << ranks;
    EXPECT_TRUE(reader.watch.may_be_part());
  }
}

TEST(EpochWatch, DrawingWithReplacementDoesNotEndAnEpochEveryFewReads) {
  Reader reader(2000);
  Random random(1);
  for (int i = 0; i < 8000; ++i) reader.read({random.below(2000)});
  EXPECT_LE(reader.ends.size(), 8u);
}

TEST(EpochWatch, ASampleLookedAtBeforeAndAFileThatIsReadAgainAndAgainEndNoEpoch) {
  Reader reader(2000);
  reader.read({7});
  const auto order = shuffled(1000, 1, 1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % 100 == 0) reader.read({0});
    reader.read({order[i]});
  }
  EXPECT_TRUE(reader.ends.empty());
}

TEST(EpochWatch, ReadersThatReadOneFileEachTellNothingOfTheirOrder) {
  EpochWatch watch(1000);
  for (const std::uint64_t id : shuffled(500, 1)) watch.on_read(SampleId{id}, std::nullopt);
  EXPECT_FALSE(watch.is_job());
}

// Where epochs begin by the watch's count of their reads, and where that was seen.
struct Begin {
  std::uint64_t at = 0;
  std::uint64_t seen_at = 0;
};
std::vector<Begin> begins_of(Reader& reader, const std::vector<std::uint64_t>& ids) {
  std::vector<Begin> begins;
  for (const std::uint64_t id : ids) {
    const std::size_t ends = reader.ends.size();
    reader.read({id});
    if (reader.ends.size() > ends) begins.push_back({reader.count - reader.watch.reads(), reader.count});
  }
  return begins;
}

std::vector<std::uint64_t> first_of(std::vector<std::uint64_t> ids, std::uint64_t percent) {
  ids.resize(ids.size() * percent / 100);
  return ids;
}

// Reads eight whole epochs of `count` after one that was seen only in part. At the end of the second of them at the
// latest, each must be seen to begin where it does, and only there.
void expect_whole_epochs_after(const std::vector<std::uint64_t>& part_seen, std::uint64_t samples,
                               std::uint64_t count) {
  SCOPED_TRACE(std::to_string(part_seen.size()) + " of " + std::to_string(count) + " of " + std::to_string(samples));
  Reader reader(samples);
  reader.read(part_seen);
  reader.read(shuffled(count, 100));
  std::vector<Begin> begins;
  for (std::uint64_t epoch = 1; epoch < 8; ++epoch) {
    for (const Begin& begin : begins_of(reader, shuffled(count, 100 + epoch))) begins.push_back(begin);
  }
  std::erase_if(begins, [&](const Begin& begin) { return begin.seen_at < part_seen.size() + count * 3 / 2; });
  ASSERT_EQ(begins.size(), 7u);
  for (std::uint64_t i = 0; i < begins.size(); ++i) {
    const std::uint64_t expected = part_seen.size() + (2 + i) * count;
    EXPECT_NEAR(static_cast<double>(begins[i].at), static_cast<double>(expected), i == 0 ? 20 : 1) << i;
    EXPECT_LE(begins[i].seen_at, expected + (i == 0 ? 30 : 8)) << i;
  }
  EXPECT_GE(reader.watch.epoch(), 9u);
  EXPECT_LE(reader.watch.epoch(), 10u);  // whether what was seen in part counts as one
  EXPECT_FALSE(reader.watch.may_be_part());
  for (std::uint64_t id = 0; id < samples; ++id) ASSERT_EQ(reader.watch.expects(SampleId{id}), id < count) << id;
}

TEST(EpochWatch, AFirstEpochThatWasOnlyAPartSpoilsNoneAfterTheNext) {
  for (const std::uint64_t samples : {400, 1000}) {
    for (const std::uint64_t percent : {10, 30, 50, 70, 90, 99}) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        expect_whole_epochs_after(first_of(shuffled(samples, seed), percent), samples, samples);
      }
    }
  }
}

TEST(EpochWatch, NorIfTheJobReadsOnlyPartOfTheDataSet) {
  for (const std::uint64_t percent : {10, 30, 50, 70, 90}) {
    expect_whole_epochs_after(first_of(shuffled(1000, 1), percent), 5000, 1000);
  }
}

TEST(EpochWatch, ThatBeginsInTheMiddleOfAnEpochKnowsTheNextButOne) {
  for (const std::uint64_t left : {60, 120, 200, 390}) {
    const auto order = shuffled(400, 7);
    expect_whole_epochs_after({order.end() - static_cast<std::ptrdiff_t>(left), order.end()}, 400, 400);
  }
}

TEST(EpochWatch, AnEpochThatTheJobBreaksOffSpoilsNoneAfterTheNext) {
  Reader reader(400);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) reader.read(shuffled(400, epoch));
  reader.read(first_of(shuffled(400, 3), 40));
  for (std::uint64_t epoch = 4; epoch < 6; ++epoch) reader.read(shuffled(400, epoch));
  for (std::uint64_t epoch = 6; epoch < 10; ++epoch) {
    const auto begins = begins_of(reader, shuffled(400, epoch));
    ASSERT_EQ(begins.size(), 1u) << epoch;
    EXPECT_EQ(begins[0].at, epoch * 400 + 160);
  }
  EXPECT_GE(reader.watch.epoch(), 10u);
  EXPECT_LE(reader.watch.epoch(), 11u);
}

TEST(EpochWatch, ARankWhoseFirstPartWasCutShortHasEpochsOfItsPartToo) {
  for (const std::uint64_t ranks : {2, 4, 8}) {
    for (const std::uint64_t percent : {10, 40, 60, 90, 100}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(percent) + " %");
      Reader reader(20000);
      const std::uint64_t count = 20000 / ranks;
      reader.read(first_of(part(20000, 50, ranks), percent));
      const std::uint64_t first = reader.count;
      reader.read(part(20000, 51, ranks));
      for (std::uint64_t epoch = 1; epoch < 8; ++epoch) {
        const auto begins = begins_of(reader, part(20000, 51 + epoch, ranks));
        ASSERT_EQ(begins.size(), 1u) << epoch;
        EXPECT_NEAR(static_cast<double>(begins[0].at), static_cast<double>(first + epoch * count), 50) << epoch;
        EXPECT_LE(begins[0].seen_at, first + epoch * count + 150) << epoch;
      }
      EXPECT_TRUE(reader.watch.may_be_part());
    }
  }
}

TEST(EpochWatch, AValidationSetReadAfterEachEpochBelongsToIt) {
  const auto validation = shuffled(200, 1, 1000);
  for (const std::uint64_t percent : {20, 60, 100}) {
    Reader reader(1300);
    reader.read(first_of(shuffled(1000, 50), percent));
    reader.read(validation);
    const std::uint64_t first = reader.count;
    for (std::uint64_t epoch = 1; epoch < 8; ++epoch) {
      reader.read(shuffled(1000, epoch));
      reader.read(validation);
    }
    ASSERT_GE(reader.ends.size(), 6u) << percent;
    for (std::uint64_t epoch = 2; epoch < 8; ++epoch) {
      EXPECT_NEAR(static_cast<double>(reader.ends[reader.ends.size() - 8 + epoch]),
                  static_cast<double>(first + epoch * 1200), 2) << percent;
    }
    EXPECT_LE(reader.ends.size(), 8u) << percent;
  }
}

TEST(EpochWatch, EpochsThatEachLeaveOutAFewEndWithinAFewReads) {
  Reader reader(1000);
  reader.read(first_of(shuffled(1000, 0), 96));
  for (std::uint64_t epoch = 1; epoch < 8; ++epoch) {
    const auto begins = begins_of(reader, first_of(shuffled(1000, epoch), 96));
    ASSERT_EQ(begins.size(), 1u) << epoch;
    EXPECT_NEAR(static_cast<double>(begins[0].at), static_cast<double>(epoch * 960), 4) << epoch;
    EXPECT_LE(begins[0].seen_at, epoch * 960 + 12) << epoch;
  }
}

TEST(SweepQueue, TakesTheOrderOfTheSweepWhenSamplesComeLittleByLittle) {
  const std::vector<double> importance{0.5, 1, 0, 1, 0.5, 0.25, 1};
  const std::vector<std::uint64_t> bytes{7, 9, 1, 4, 7, 2, 4};
  const std::vector<bool> none(importance.size());
  SweepQueue queue;
  std::vector<Index> order;
  for (const std::uint64_t id : {6, 3, 0, 5, 1, 4, 2}) queue.add(SampleId{id}, importance[id], bytes[id]);
  for (; !queue.empty(); queue.pop()) order.push_back(static_cast<Index>(value(queue.first())));
  EXPECT_EQ(order, sweep_order({.importance = importance, .read = none, .waiting = none, .bytes = bytes}));
}

}  // namespace
}  // namespace winnow
