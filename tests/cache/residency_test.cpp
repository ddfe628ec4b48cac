#include "cache/residency.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "policy/lru.h"
#include "policy/registry.h"

namespace winnow {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr SampleId A{1}, B{2}, C{3}, D{4};

struct Ledger {
  PageCounts counts;
  Residency residency;
  explicit Ledger(std::uint64_t budget_pages, const std::string& policy = "lru")
      : residency(budget_pages * kPage, make_eviction(policy, ""), counts) {}
};

TEST(Residency, IsEmptyAtFirst) {
  Ledger ledger(10);
  Residency& residency = ledger.residency;
  EXPECT_EQ(residency.total_bytes(), 0u);
  EXPECT_EQ(residency.samples(), 0u);
  EXPECT_TRUE(residency.choose_victims().empty());
  EXPECT_TRUE(residency.sample(10).empty());
}

TEST(Residency, CountsWholePages) {
  Ledger ledger(10);
  Residency& residency = ledger.residency;
  residency.add(A, 1, 100'000);
  EXPECT_EQ(residency.bytes(A), kPage);
  residency.add(A, kPage + 1, 100'000);
  EXPECT_EQ(residency.bytes(A), 3 * kPage);
  EXPECT_EQ(residency.total_bytes(), 3 * kPage);
  EXPECT_EQ(residency.samples(), 1u);
}

TEST(Residency, NeverHoldsMoreOfAFileThanItHas) {
  Ledger ledger(10);
  Residency& residency = ledger.residency;
  for (int i = 0; i < 5; ++i) residency.add(A, 2 * kPage, 2 * kPage + 1);
  EXPECT_EQ(residency.bytes(A), 3 * kPage);
  EXPECT_EQ(residency.total_bytes(), 3 * kPage);
}

TEST(Residency, AnEmptyFileTakesNoRoom) {
  Ledger ledger(10);
  Residency& residency = ledger.residency;
  EXPECT_FALSE(residency.add(A, 0, 0));
  EXPECT_EQ(residency.samples(), 0u);
}

TEST(Residency, TellsWhenTheBudgetIsPassed) {
  Ledger ledger(3);
  Residency& residency = ledger.residency;
  EXPECT_FALSE(residency.add(A, kPage, kPage));
  EXPECT_FALSE(residency.add(B, 2 * kPage, 2 * kPage));
  EXPECT_TRUE(residency.choose_victims().empty());
  EXPECT_TRUE(residency.add(C, kPage, kPage));
}

TEST(Residency, TheLeastRecentlyUsedAreTheVictims) {
  Ledger ledger(3);
  Residency& residency = ledger.residency;
  for (const SampleId id : {A, B, C}) residency.add(id, kPage, kPage);
  residency.touch(A);
  residency.add(D, kPage, kPage);
  const auto victims = residency.choose_victims();
  ASSERT_FALSE(victims.empty());
  EXPECT_EQ(victims.front(), B);
  EXPECT_EQ(std::count(victims.begin(), victims.end(), D), 0);
}

TEST(Residency, UnderImportanceTheHighScoresStay) {
  Ledger ledger(64, "importance");
  Residency& residency = ledger.residency;
  for (std::uint64_t id = 1; id <= 100; ++id) {
    residency.set_importance(SampleId{id}, static_cast<double>(id * 37 % 101) / 101);
    residency.add(SampleId{id}, kPage, kPage);
  }
  std::set<std::uint64_t> gone;
  for (const SampleId id : residency.choose_victims()) gone.insert(value(id) * 37 % 101);
  ASSERT_EQ(gone.size(), 44u);
  EXPECT_EQ(*gone.rbegin(), 44u) << "a higher score left before a lower one";
}

TEST(Residency, UnderImportanceWhatWasReadLeavesBeforeWhatWasNot) {
  Ledger ledger(3, "importance");
  Residency& residency = ledger.residency;
  for (const SampleId id : {A, B, C}) residency.add(id, kPage, kPage);
  residency.set_importance(B, 0.1);
  residency.begin_epoch();
  residency.touch(C);
  residency.add(D, kPage, kPage, true);
  const auto victims = residency.choose_victims();
  ASSERT_FALSE(victims.empty());
  EXPECT_EQ(victims.front(), C) << "read, though others matter less";
}

TEST(Residency, UnderNoneNobodyLeavesForANewcomer) {
  Ledger ledger(3, "none");
  Residency& residency = ledger.residency;
  for (const SampleId id : {A, B, C}) EXPECT_FALSE(residency.add(id, kPage, kPage));
  EXPECT_TRUE(residency.add(D, kPage, kPage));
  EXPECT_EQ(residency.choose_victims(), (std::vector<SampleId>{C})) << "it came when there was only room to pass through";
}

// A reader copies its pages after they came: who is to go again goes after those that came before it.
TEST(Residency, UnderNoneNewcomersPassThroughAPartOfTheBudget) {
  Ledger ledger(100, "none");
  Residency& residency = ledger.residency;
  std::vector<SampleId> gone;
  for (std::uint64_t id = 1; id <= 200; ++id) {
    residency.add(SampleId{id}, kPage, kPage);
    for (const SampleId victim : residency.choose_victims()) {
      EXPECT_GE(id, value(victim) + 20) << "its reader may be copying it still";
      residency.forget(victim);
      gone.push_back(victim);
    }
  }
  EXPECT_EQ(gone.size(), 100u);
  EXPECT_TRUE(std::is_sorted(gone.begin(), gone.end())) << "the oldest first";
  for (std::uint64_t id = 1; id <= 70; ++id) EXPECT_GT(residency.bytes(SampleId{id}), 0u) << "nobody leaves";
}

TEST(Residency, WhatCameAheadStaysUntilItIsRead) {
  Ledger ledger(10'000, "importance");
  Residency& residency = ledger.residency;
  for (std::uint64_t id = 1; id <= 100; ++id) residency.add(SampleId{id}, 40 * kPage, 40 * kPage, true);
  EXPECT_TRUE(residency.has_room_ahead(4'000 * kPage));
  EXPECT_FALSE(residency.has_room_ahead(5'000 * kPage)) << "readers need some room, too";
  for (std::uint64_t id = 101; id <= 260; ++id) residency.add(SampleId{id}, 40 * kPage, 40 * kPage);
  for (const SampleId id : residency.choose_victims()) EXPECT_GT(value(id), 100u) << "left before it was read";
  EXPECT_FALSE(residency.has_room_ahead(5'000 * kPage));
  for (std::uint64_t id = 1; id <= 100; ++id) residency.touch(SampleId{id});
  EXPECT_TRUE(residency.has_room_ahead(5'000 * kPage)) << "what was read makes room";
}

TEST(Residency, OfASmallBudgetHalfMayComeAhead) {
  for (const std::uint64_t pages : {512u, 2048u}) {  // 2 MiB and 8 MiB
    Ledger ledger(pages, "importance");
    Residency& residency = ledger.residency;
    EXPECT_TRUE(residency.has_room_ahead(pages / 2 * kPage)) << pages;
    EXPECT_FALSE(residency.has_room_ahead((pages / 2 + 1) * kPage)) << pages << ": the rest is for readers";
    residency.add(A, pages / 4 * kPage, pages / 4 * kPage, true);
    EXPECT_TRUE(residency.has_room_ahead(pages / 4 * kPage)) << pages;
    EXPECT_FALSE(residency.has_room_ahead((pages / 4 + 1) * kPage)) << pages;
  }
}

TEST(Residency, OfALargerBudgetReadersKeepWhat32OfThemNeed) {
  Ledger ledger(32'768, "importance");  // 128 MiB, of which 4 are made free at a time
  Residency& residency = ledger.residency;
  const auto most_ahead = [&] {
    std::uint64_t pages = 0;
    while (residency.has_room_ahead((pages + 1) * kPage)) ++pages;
    return pages;
  };
  EXPECT_EQ(most_ahead(), 32'768 - 1'024 - 1'024) << "4 MiB at least";
  EXPECT_EQ(most_ahead() * kPage, Residency::most_ahead(32'768 * kPage));
  residency.add(A, kPage, 64 * kPage);
  EXPECT_EQ(most_ahead(), 32'768 - 1'024 - 32 * 64) << "as large as those that are read";
  residency.add(B, kPage, 100'000 * kPage);
  EXPECT_EQ(most_ahead(), 32'768 - 1'024 - 8'192) << "a quarter at most";
  residency.begin_epoch();
  EXPECT_EQ(most_ahead(), 32'768 - 1'024 - 8'192);
  residency.begin_epoch();
  EXPECT_EQ(most_ahead(), 32'768 - 1'024 - 1'024) << "nothing large was read for an epoch";
}

TEST(Residency, VictimsAreEnoughToComeUnderTheBudget) {
  Ledger ledger(100);
  Residency& residency = ledger.residency;
  for (std::uint64_t id = 1; id <= 30; ++id) residency.add(SampleId{id}, 5 * kPage, 5 * kPage);
  for (const SampleId id : residency.choose_victims()) residency.forget(id);
  EXPECT_LE(residency.total_bytes(), 100 * kPage);
  EXPECT_GT(residency.total_bytes(), 80 * kPage) << "dropped far more than needed";
}

TEST(Residency, AVictimStaysInTheTotalUntilItsFateIsKnown) {
  Ledger ledger(1);
  Residency& residency = ledger.residency;
  residency.add(A, kPage, kPage);
  EXPECT_TRUE(residency.add(B, kPage, kPage));
  const auto victims = residency.choose_victims();
  ASSERT_FALSE(victims.empty());
  EXPECT_EQ(residency.total_bytes(), 2 * kPage);
  EXPECT_TRUE(residency.choose_victims().empty()) << "chosen twice";
  for (const SampleId id : victims) residency.correct(id, 0);
  EXPECT_LE(residency.total_bytes(), kPage);
}

TEST(Residency, AVictimThatCouldNotBeDroppedIsAVictimAgainLater) {
  Ledger ledger(1);
  Residency& residency = ledger.residency;
  residency.add(A, kPage, kPage);
  residency.add(B, kPage, kPage);
  const auto first = residency.choose_victims();
  ASSERT_FALSE(first.empty());
  for (const SampleId id : first) residency.correct(id, kPage);
  EXPECT_EQ(residency.total_bytes(), 2 * kPage);
  EXPECT_FALSE(residency.choose_victims().empty());
}

TEST(Residency, AVictimReadAgainMeanwhileIsAnOrdinaryResident) {
  Ledger ledger(2);
  Residency& residency = ledger.residency;
  for (const SampleId id : {A, B, C}) residency.add(id, kPage, 2 * kPage);
  ASSERT_EQ(residency.choose_victims().front(), A);
  residency.add(A, kPage, 2 * kPage);
  EXPECT_EQ(residency.bytes(A), 2 * kPage);
  residency.correct(A, kPage);
  EXPECT_EQ(residency.bytes(A), kPage);
  std::uint64_t sum = 0;
  for (const SampleId id : {A, B, C}) sum += residency.bytes(id);
  EXPECT_EQ(residency.total_bytes(), sum);
}

TEST(Residency, ForgettingTakesASampleOut) {
  Ledger ledger(10);
  Residency& residency = ledger.residency;
  residency.add(A, 3 * kPage, 3 * kPage);
  residency.add(B, kPage, kPage);
  residency.forget(A);
  EXPECT_EQ(residency.bytes(A), 0u);
  EXPECT_EQ(residency.total_bytes(), kPage);
  EXPECT_EQ(residency.samples(), 1u);
  residency.forget(A);
  residency.forget(C);
  EXPECT_EQ(residency.samples(), 1u);
}

TEST(Residency, CorrectingSetsTheTruthUpAndDown) {
  Ledger ledger(10);
  Residency& residency = ledger.residency;
  residency.add(A, 3 * kPage, 3 * kPage);
  residency.correct(A, kPage);
  EXPECT_EQ(residency.total_bytes(), kPage);
  residency.correct(B, 2 * kPage);
  EXPECT_EQ(residency.total_bytes(), 3 * kPage);
  EXPECT_EQ(residency.samples(), 2u);
}

TEST(Residency, TouchingTheUnknownDoesNothing) {
  Ledger ledger(10);
  Residency& residency = ledger.residency;
  residency.touch(A);
  EXPECT_EQ(residency.samples(), 0u);
}

TEST(Residency, RemembersTheMostItEverHeld) {
  Ledger ledger(10);
  Residency& residency = ledger.residency;
  residency.add(A, 5 * kPage, 5 * kPage);
  residency.forget(A);
  residency.add(B, kPage, kPage);
  EXPECT_EQ(residency.high_water_bytes(), 5 * kPage);
}

TEST(Residency, SamplingComesAroundToEveryone) {
  Ledger ledger(1000);
  Residency& residency = ledger.residency;
  for (std::uint64_t id = 1; id <= 10; ++id) residency.add(SampleId{id * 700}, kPage, kPage);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 4; ++i) {
    const auto some = residency.sample(3);
    EXPECT_LE(some.size(), 3u);
    for (const SampleId id : some) EXPECT_TRUE(seen.insert(value(id)).second) << "twice in one round";
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_FALSE(residency.sample(3).empty()) << "the second round begins at the front";
}

TEST(Residency, TheTotalIsTheSumAfterRandomOperations) {
  Ledger ledger(200);
  Residency& residency = ledger.residency;
  std::mt19937 random(5);
  std::vector<SampleId> dropping;
  for (int i = 0; i < 20'000; ++i) {
    const SampleId id{random() % 100 + 1};
    const std::uint64_t bytes = random() % 40'000;
    switch (random() % 5) {
      case 0:
      case 1:
        residency.add(id, bytes, 30'000);
        break;
      case 2:
        residency.correct(id, std::min<std::uint64_t>(bytes, 30'000));
        break;
      case 3:
        residency.touch(id);
        break;
      default:
        for (const SampleId victim : residency.choose_victims()) dropping.push_back(victim);
        while (dropping.size() > 3) {
          residency.correct(dropping.back(), random() % 2 * kPage);
          dropping.pop_back();
        }
    }
  }
  std::uint64_t sum = 0;
  std::uint64_t samples = 0;
  for (std::uint64_t id = 1; id <= 100; ++id) {
    sum += residency.bytes(SampleId{id});
    samples += residency.bytes(SampleId{id}) > 0;
  }
  EXPECT_EQ(residency.total_bytes(), sum);
  EXPECT_EQ(residency.samples(), samples);
}

TEST(Residency, ThreadsMayAddTouchDropAndSampleAtOnce) {
  Ledger ledger(50);
  Residency& residency = ledger.residency;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 3000; ++i) {
        const SampleId id{random() % 200 + 1};
        if (residency.add(id, kPage, kPage)) {
          for (const SampleId victim : residency.choose_victims()) residency.forget(victim);
        }
        residency.touch(id);
        residency.sample(2);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const SampleId victim : residency.choose_victims()) residency.forget(victim);
  EXPECT_LE(residency.total_bytes(), 50 * kPage);
}

TEST(Residency, TakesUpWhatAPredecessorLeft) {
  PageCounts counts;
  {
    Residency before(10 * kPage, std::make_unique<Lru>(), counts);
    before.add(A, 2 * kPage, 2 * kPage);
    before.add(C, kPage, kPage);
  }
  Residency after(2 * kPage, std::make_unique<Lru>(), counts);
  EXPECT_EQ(after.total_bytes(), 3 * kPage);
  EXPECT_EQ(after.samples(), 2u);
  EXPECT_EQ(after.bytes(A), 2 * kPage);
  EXPECT_FALSE(after.choose_victims().empty());
}

}  // namespace
}  // namespace winnow
