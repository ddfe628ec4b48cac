#include "fs/page_tier.h"

#include <gtest/gtest.h>

#include <latch>

#include "tests/fs/mount_fixture.h"

namespace winnow {
namespace {

constexpr std::uint64_t kPage = 4096;

class PageTierTest : public MountFixture {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c", "d"}) data.file(name, pattern(kPage));
  }
  FileRef ref(const std::string& path) { return {sample_of(id(path)), path, node(path).stat.version}; }
  PageTier::Push push_of(const std::string& path, std::vector<Range> missing) {
    return {.file = ref(path),
            .offset = 0,
            .bytes = to_bytes(data.content(path)),
            .missing = [missing] { return missing; },
            .done = [this] { ++done; }};
  }
  std::atomic<int> done{0};
};

TEST_F(PageTierTest, APushStoresWhatIsMissing) {
  start();
  pages->push(push_of("a", {{0, 100}, {4000, 96}}));
  drain(*notifications);
  const auto stores = kernel.stores();
  ASSERT_EQ(stores.size(), 2u);
  EXPECT_EQ(stores[0].id, id("a"));
  EXPECT_EQ(stores[0].bytes, data.content("a").substr(0, 100));
  EXPECT_EQ(stores[1].offset, 4000u);
  EXPECT_EQ(stores[1].bytes, data.content("a").substr(4000));
  EXPECT_EQ(done, 1);
  EXPECT_EQ(pages->counts().pushed_files, 1u);
  EXPECT_EQ(pages->counts().pushed_bytes, 196u);
  EXPECT_EQ(pages->residency().bytes(sample_of(id("a"))), kPage);
}

TEST_F(PageTierTest, APushOfAWindowCountsItsOwnOffset) {
  start();
  auto push = push_of("a", {{1000, 10}});
  push.offset = 900;
  push.bytes = to_bytes(data.content("a").substr(900, 500));
  pages->push(std::move(push));
  drain(*notifications);
  ASSERT_EQ(kernel.stores().size(), 1u);
  EXPECT_EQ(kernel.stores()[0].bytes, data.content("a").substr(1000, 10));
}

TEST_F(PageTierTest, WhatIsMissingIsAskedOnlyWhenItIsThePushsTurn) {
  start();
  std::latch go(1);
  notifications->submit(WorkerPool::Urgency::kDemand, 0, [&] { go.wait(); });
  std::atomic<bool> still_missing{true};
  auto push = push_of("a", {});
  push.missing = [&] { return still_missing ? std::vector<Range>{{0, kPage}} : std::vector<Range>{}; };
  pages->push(std::move(push));
  still_missing = false;
  go.count_down();
  drain(*notifications);
  EXPECT_TRUE(kernel.stores().empty());
  EXPECT_EQ(done, 1);
}

TEST_F(PageTierTest, APushIsComingUntilItsTurnHasPassed) {
  start();
  std::latch go(1);
  notifications->submit(WorkerPool::Urgency::kDemand, 0, [&] { go.wait(); });
  auto push = push_of("a", {{0, kPage}});
  const SampleId id = push.file.id;
  EXPECT_FALSE(pages->is_coming(id));
  pages->push(std::move(push));
  EXPECT_TRUE(pages->is_coming(id));
  go.count_down();
  drain(*notifications);
  EXPECT_FALSE(pages->is_coming(id));
  EXPECT_GT(pages->residency().bytes(id), 0u);
}

TEST_F(PageTierTest, WhatWaitsForItsPushTakesItsRoomAlready) {
  policy = "importance";
  start(4 * kPage);  // half of it may come ahead
  std::latch go(1);
  notifications->submit(WorkerPool::Urgency::kDemand, 0, [&] { go.wait(); });
  EXPECT_TRUE(pages->has_room_ahead(2 * kPage));
  auto push = push_of("a", {{0, kPage}});
  push.ahead = true;
  pages->push(std::move(push));
  EXPECT_TRUE(pages->has_room_ahead(kPage));
  EXPECT_FALSE(pages->has_room_ahead(2 * kPage)) << "fetched now, it would find no room";
  go.count_down();
  drain(*notifications);
  EXPECT_TRUE(pages->has_room_ahead(kPage));
  EXPECT_FALSE(pages->has_room_ahead(2 * kPage));
}

TEST_F(PageTierTest, AFileTheKernelDoesNotKnowIsSkippedAndCounted) {
  start();
  kernel.refuse_stores(ENOENT);
  pages->push(push_of("a", {{0, 100}, {200, 100}}));
  drain(*notifications);
  EXPECT_EQ(kernel.count("store " + std::to_string(value(id("a")))), 1u) << "tried again in vain";
  EXPECT_EQ(pages->counts().skipped_pushes, 1u);
  EXPECT_EQ(pages->counts().pushed_files, 0u);
  EXPECT_EQ(pages->residency().total_bytes(), 0u);
  EXPECT_EQ(done, 1);
}

TEST_F(PageTierTest, PushesBeyondWhatMayWaitAreSkippedButDone) {
  start();
  std::latch go(1);
  notifications->submit(WorkerPool::Urgency::kDemand, 0, [&] { go.wait(); });
  auto data_48mib = std::make_shared<std::byte[]>(48 << 20);
  const Bytes bytes(std::move(data_48mib), 48 << 20);
  for (int i = 0; i < 2; ++i) {
    auto push = push_of("a", {});
    push.bytes = bytes;
    pages->push(std::move(push));
  }
  EXPECT_EQ(pages->counts().skipped_pushes, 1u);
  EXPECT_EQ(done, 1) << "the skipped one is done at once";
  go.count_down();
  drain(*notifications);
  EXPECT_EQ(done, 2);
  auto push = push_of("a", {});
  push.bytes = bytes;
  pages->push(std::move(push));
  drain(*notifications);
  EXPECT_EQ(pages->counts().skipped_pushes, 1u) << "room that was freed is not used";
}

TEST_F(PageTierTest, AFileThatTheKernelIsAboutToKnowIsPushedAheadAMomentLater) {
  start();
  kernel.refuse_stores(ENOENT);
  pages->when_told([&](NodeId told) { return told == id("a"); });
  int tries = 0;
  kernel.on_event = [&](const std::string&) {
    if (++tries == 3) kernel.refuse_stores(0);
  };
  pages->push(push_of("a", {{0, 100}}));
  drain(*notifications);
  EXPECT_EQ(kernel.stores().size(), 1u);
  EXPECT_EQ(pages->counts().skipped_pushes, 0u);
  EXPECT_EQ(done, 1);
  kernel.refuse_stores(ENOENT);
  tries = 10;
  pages->push(push_of("b", {{0, 100}}));
  drain(*notifications);
  EXPECT_EQ(tries, 11) << "of a file that it was never told of, it will know nothing soon";
}

TEST_F(PageTierTest, APushThatThePoolDropsIsDoneToo) {
  start();
  notifications->stop();
  pages->push(push_of("a", {{0, 100}}));
  EXPECT_EQ(done, 1) << "done is called in any case";
}

TEST_F(PageTierTest, RemembersWhatWasEverServed) {
  start();
  EXPECT_FALSE(pages->was_served(sample_of(id("a"))));
  pages->note_read(ref("a"), 10);
  EXPECT_TRUE(pages->was_served(sample_of(id("a"))));
  pages->note_forgotten(id("a"));
  EXPECT_TRUE(pages->was_served(sample_of(id("a"))));
  pages->push(push_of("b", {{0, 1}}));
  drain(*notifications);
  EXPECT_TRUE(pages->was_served(sample_of(id("b"))));
}

TEST_F(PageTierTest, PassingTheBudgetDropsTheLeastRecentlyOpened) {
  start(3 * kPage);
  for (const char* name : {"a", "b", "c"}) pages->note_read(ref(name), kPage);
  pages->note_open(id("a"));
  drain(*notifications);
  EXPECT_TRUE(kernel.events().empty());
  pages->note_read(ref("d"), kPage);
  drain(*notifications);
  EXPECT_EQ(kernel.count("drop b"), 1u);
  EXPECT_EQ(kernel.count("drop d"), 0u);
  EXPECT_LE(pages->residency().total_bytes(), 3 * kPage);
  EXPECT_EQ(kernel.count("node " + std::to_string(value(id("b")))), 0u) << "its attributes went along";
  EXPECT_EQ(pages->counts().dropped_files, kernel.events().size());
}

// Which two of four leave, for a reader of the fourth, when the epoch has read one of the others already, or none.
TEST_F(PageTierTest, UnderImportanceWhatWasReadGoesFirstThenTheLowestScore) {
  policy = "importance";
  start(3 * kPage);
  const auto fill = [&] {
    for (const auto& [name, importance] : {std::pair{"a", 0.9}, {"b", 0.1}, {"c", 0.5}}) {
      pages->set_importance(sample_of(id(name)), importance);
      pages->note_read(ref(name), kPage);
    }
    pages->begin_epoch();
  };
  fill();
  pages->note_open(id("a"));
  pages->note_read(ref("d"), kPage);
  drain(*notifications);
  EXPECT_EQ(kernel.events(), (std::vector<std::string>{"drop a", "drop d"})) << "an unread one went";
  fill();
  pages->note_read(ref("d"), kPage);
  drain(*notifications);
  EXPECT_EQ(kernel.count("drop d"), 2u);
  EXPECT_EQ(kernel.count("drop b"), 1u) << "of the unread ones it matters least";
}

TEST_F(PageTierTest, UnderNoneWhoIsThereStaysAndNewcomersGo) {
  policy = "none";
  start(3 * kPage);
  for (const char* name : {"a", "b", "c", "d"}) pages->note_read(ref(name), kPage);
  drain(*notifications);
  EXPECT_EQ(kernel.count("drop a") + kernel.count("drop b"), 0u);
  EXPECT_EQ(kernel.count("drop c"), 1u);
  EXPECT_EQ(kernel.count("drop d"), 0u) << "it came last: its reader may be copying it still";
}

TEST_F(PageTierTest, WrongPagesAreDiscardedAlsoWhereTheyAreMapped) {
  start();
  pages->note_read(ref("a"), kPage);
  pages->discard(sample_of(id("a")));
  EXPECT_EQ(kernel.count("node " + std::to_string(value(id("a")))), 1u);
  EXPECT_EQ(pages->residency().total_bytes(), 0u);
}

TEST_F(PageTierTest, WhatCannotBeDroppedByNameIsInvalidated) {
  start(kPage);
  kernel.set_left_after_drop("a", std::nullopt);
  pages->note_read(ref("a"), kPage);
  pages->note_read(ref("b"), kPage);
  drain(*notifications);
  EXPECT_EQ(kernel.count("node " + std::to_string(value(id("a")))), 1u);
  EXPECT_EQ(pages->residency().bytes(sample_of(id("a"))), 0u);
}

TEST_F(PageTierTest, PagesThatStayStayInTheLedger) {
  start(2 * kPage);
  data.file("e", pattern(2 * kPage));
  for (const char* name : {"a", "b", "c"}) kernel.set_left_after_drop(name, kPage);
  for (const char* name : {"a", "b", "c"}) pages->note_read(ref(name), kPage);
  drain(*notifications);
  EXPECT_EQ(pages->residency().total_bytes(), 3 * kPage);
}

TEST_F(PageTierTest, AVictimWhoseFileIsGoneIsInvalidatedByItsId) {
  start(kPage);
  const NodeId old = id("a");
  pages->note_read(ref("a"), kPage);
  snapshots->tree()->amend(old, std::nullopt);
  pages->note_read(ref("b"), kPage);
  drain(*notifications);
  EXPECT_EQ(kernel.count("drop a"), 0u);
  EXPECT_EQ(kernel.count("node " + std::to_string(value(old))), 1u);
  EXPECT_EQ(pages->residency().bytes(sample_of(old)), 0u);
}

TEST_F(PageTierTest, AnAuditMendsTheLedgerAndTellsTheShareThatWasWrong) {
  start();
  for (const char* name : {"a", "b", "c", "d"}) pages->note_read(ref(name), kPage);
  kernel.set_resident("a", 0);
  kernel.set_resident("b", kPage);
  kernel.set_resident("c", kPage);
  kernel.set_resident("d", std::nullopt);
  const PageTier::Audit found = pages->audit(10);
  EXPECT_DOUBLE_EQ(found.wrong, 1.0 / 3);
  EXPECT_EQ(pages->residency().total_bytes(), 3 * kPage);
  pages->audit(10);
  EXPECT_DOUBLE_EQ(pages->audit(10).wrong, 0);
}

TEST_F(PageTierTest, AForgottenNodeLeavesTheLedger) {
  start();
  pages->note_read(ref("a"), kPage);
  pages->note_forgotten(id("a"));
  EXPECT_EQ(pages->residency().total_bytes(), 0u);
}

}  // namespace
}  // namespace winnow
