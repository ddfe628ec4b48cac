#include "fs/request_notes.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace winnow {
namespace {

using Verdict = RequestNotes::Verdict;

struct RequestNotesTest : testing::Test {
  // As the holder does after a death.
  void die(bool hung) {
    suspect_served(*memory, hung);
    for (auto& slot : memory->served) slot = 0;
  }
  void crash() { die(false); }
  std::multiset<std::uint64_t> served() const {
    std::multiset<std::uint64_t> found;
    for (const auto& slot : memory->served) {
      if (slot != 0) found.insert(slot);
    }
    return found;
  }
  std::unique_ptr<SurvivalMemory> memory = std::make_unique<SurvivalMemory>();
  RequestNotes notes{*memory};
};

TEST_F(RequestNotesTest, HoldWhatIsBeingServed) {
  notes.begin(2);
  notes.begin(4);
  notes.begin(6 | kResentBit);
  EXPECT_EQ(served(), (std::multiset<std::uint64_t>{2, 4, 6}));
  notes.end(4);
  notes.end(6);
  EXPECT_EQ(served(), std::multiset<std::uint64_t>{2});
}

TEST_F(RequestNotesTest, NeighboursThatMeetInOnePlaceAreBothKept) {
  constexpr std::uint64_t kSamePlace = 2 + 2 * SurvivalMemory::kServed;
  notes.begin(2);
  notes.begin(kSamePlace);
  notes.end(2);
  EXPECT_EQ(served(), std::multiset<std::uint64_t>{kSamePlace});
  notes.end(kSamePlace);
  EXPECT_TRUE(served().empty());
}

TEST_F(RequestNotesTest, MoreThanTheyHoldAreLeftOut) {
  for (std::uint64_t i = 1; i <= SurvivalMemory::kServed + 10; ++i) notes.begin(2 * i);
  EXPECT_EQ(served().size(), SurvivalMemory::kServed);
}

TEST_F(RequestNotesTest, OfManyThatMeetAllThatWereNotedAreForgotten) {
  std::vector<std::uint64_t> many;
  for (std::uint64_t i = 0; i < 200; ++i) many.push_back(2 + 2 * i * SurvivalMemory::kServed);
  for (const auto unique : many) notes.begin(unique);
  for (const auto unique : many) notes.end(unique);
  EXPECT_TRUE(served().empty());
}

TEST_F(RequestNotesTest, AHangIsLaidOnlyAtWhatAThreadWasAt) {
  notes.begin(2);
  notes.begin(4);
  notes.park(4);
  die(true);
  EXPECT_EQ(notes.verdict(2 | kResentBit), Verdict::kSuspect);
  EXPECT_EQ(notes.verdict(4 | kResentBit), Verdict::kClean);
}

TEST_F(RequestNotesTest, ACrashIsLaidAtWhatWaitsToo) {
  notes.begin(4);
  notes.park(4);
  crash();
  EXPECT_EQ(notes.verdict(4 | kResentBit), Verdict::kSuspect);
}

TEST_F(RequestNotesTest, WhatEndedIsNotParked) {
  notes.begin(4);
  notes.end(4);
  notes.park(4);
  EXPECT_TRUE(served().empty());
}

TEST_F(RequestNotesTest, ARequestOfOneCrashIsSuspectOfTwoPoisoned) {
  notes.begin(8);
  crash();
  EXPECT_EQ(notes.verdict(8 | kResentBit), Verdict::kSuspect);
  notes.begin(8 | kResentBit);
  crash();
  EXPECT_EQ(notes.verdict(8 | kResentBit), Verdict::kPoisoned);
  EXPECT_EQ(notes.verdict(10 | kResentBit), Verdict::kClean);
}

TEST_F(RequestNotesTest, ANewRequestIsCleanWhateverItsNumber) {
  notes.begin(8);
  crash();
  EXPECT_EQ(notes.verdict(8), Verdict::kClean);
}

TEST_F(RequestNotesTest, ASuspectThatWasAnsweredIsCleared) {
  notes.begin(8);
  crash();
  notes.clear(8 | kResentBit);
  EXPECT_EQ(notes.verdict(8 | kResentBit), Verdict::kClean);
}

}  // namespace
}  // namespace winnow
