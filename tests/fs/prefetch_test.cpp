#include "fs/prefetch.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/fs/prefetch_fixture.h"

namespace winnow {
namespace {

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
  EXPECT_EQ(prefetch->counts().ahead_files, 10u);
  const std::vector<std::string> fetched = store.fetched;  // some perhaps before they were opened
  std::vector<NodeId> unread;
  for (const std::string& one : fetched) {
    const NodeId id = at_path(*snapshots->tree(), one)->id;
    if (std::find(order.begin(), order.begin() + 64, id) == order.begin() + 64) unread.push_back(id);
  }
  EXPECT_EQ(unread.size(), 10u);
  for (std::size_t i = 0; i < 4; ++i) open(unread[i]);
  finish_all();
  EXPECT_EQ(store.fetched.size(), fetched.size() + 4);
}

TEST_F(PrefetchTest, AFileThatIsOpenButNotReadYetStillTakesItsRoom) {
  start({.at_once = 8, .window_bytes = 10 * kFileBytes});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all();
  const std::size_t fetched = store.fetched.size();  // some perhaps before they were opened
  const NodeId last = at_path(*snapshots->tree(), store.fetched.back())->id;
  open(last, false);
  finish_all();
  EXPECT_EQ(store.fetched.size(), fetched);
  prefetch->on_miss(last);
  finish_all();
  EXPECT_EQ(store.fetched.size(), fetched + 1);
}

TEST_F(PrefetchTest, WhatATierLostIsFetchedUnlessItWasThisEpochAlready) {
  start();
  const auto order = shuffled(1);
  const std::vector<SampleId> held{sample_of(order[70]), sample_of(order[71])};
  for (const SampleId id : held) store.hold(id, true);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all();
  const std::vector<std::string> fetched = store.fetched;
  std::vector<SampleId> lost = held;
  lost.push_back(sample_of(at_path(*snapshots->tree(), fetched.back())->id));
  prefetch->on_lost(lost);
  finish_all();
  EXPECT_EQ(store.fetched.size(), fetched.size()) << "they are all there";
  for (const SampleId id : lost) store.hold(id, false);
  const std::uint64_t ahead = prefetch->counts().ahead_files;
  prefetch->on_lost(lost);
  finish_all();
  EXPECT_EQ(prefetch->counts().ahead_files, ahead - 1);
  const std::set<std::string> again(store.fetched.begin() + std::ssize(fetched), store.fetched.end());
  EXPECT_EQ(again, (std::set<std::string>{path(order[70]), path(order[71])}));
}

TEST_F(PrefetchTest, WhatATierLostMakesRoomForOthers) {
  start({.at_once = 8, .window_bytes = 10 * kFileBytes});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_all();
  const std::size_t fetched = store.fetched.size();
  const SampleId last = sample_of(at_path(*snapshots->tree(), store.fetched.back())->id);
  store.hold(last, false);
  prefetch->on_lost({&last, 1});
  finish_all();
  EXPECT_EQ(store.fetched.size(), fetched + 1);
  EXPECT_EQ(prefetch->counts().ahead_files, 10u);
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

TEST_F(PrefetchTest, AfterARefusalItWaitsForARead) {
  start({.at_once = 1, .window_bytes = 1 << 30});
  const auto order = shuffled(1);
  for (std::size_t i = 0; i < 64; ++i) open(order[i]);
  finish_until([&] { return fetched() == 5; });
  store.takes = false;
  finish_all();
  const std::size_t before = fetched();
  EXPECT_LE(before, 7u) << "what is refused is fetched twice";
  store.takes = true;
  open(at_path(*snapshots->tree(), store.fetched[0])->id);
  finish_all();
  EXPECT_GT(fetched(), before + 50);
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
