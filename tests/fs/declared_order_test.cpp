#include "fs/declared_order.h"

#include <gtest/gtest.h>

#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

using namespace std::chrono_literals;

bool everybody(int) { return true; }
bool nobody(int) { return false; }

struct DeclaredOrderTest : testing::Test {
  DeclaredOrderTest() {
    ListingBuilder builder;
    for (int i = 0; i < 100; ++i) builder.file("f" + std::to_string(1000 + i), 10);
    tree = maker.tree(builder);
    tree->each_file([this](const Node& file) { files.push_back(file); });
    std::vector<SampleId> ids;
    for (std::size_t i = 0; i < 50; ++i) ids.push_back(id(i));
    order = DeclaredOrder(ids, now);
  }
  SampleId id(std::size_t i) const { return sample_of(files[i].id); }
  void read(std::size_t i, int group) {
    order.note_reader(id(i), group);
    order.note_read(id(i), now);
  }
  void become_job(int group) {
    for (std::size_t i = 0; i < 60; ++i) jobs.on_access(*tree, files[i * 67 % 100], group, group, now);
  }

  SnapshotMaker maker;
  std::shared_ptr<Tree> tree;
  std::vector<Node> files;
  ReaderJobs jobs;
  DeclaredOrder::Clock::time_point now;
  DeclaredOrder order;
};

TEST_F(DeclaredOrderTest, EndsWithTheLastOfItsFiles) {
  for (std::size_t i = 0; i < 49; ++i) read(i, 7);
  EXPECT_TRUE(order.is_in_force());
  EXPECT_EQ(order.next(), id(0));
  read(49, 7);
  EXPECT_FALSE(order.is_in_force());
  EXPECT_EQ(order.next(), std::nullopt);
}

TEST_F(DeclaredOrderTest, IsAbandonedWhenAllWhoFollowedItHaveEnded) {
  read(0, 6);
  EXPECT_FALSE(order.is_abandoned(jobs, now, nobody)) << "a look at one file is not following";
  for (std::size_t i = 0; i < 40; ++i) read(i, i % 2 == 0 ? 7 : 8);
  EXPECT_FALSE(order.is_abandoned(jobs, now, [](int group) { return group == 8; }));
  EXPECT_TRUE(order.is_abandoned(jobs, now, nobody));
}

TEST_F(DeclaredOrderTest, IsAbandonedWhenItRestsForLongWhileAnotherJobReads) {
  read(0, 7);
  now += 1h;
  EXPECT_FALSE(order.is_abandoned(jobs, now, everybody)) << "nobody else reads";
  become_job(7);
  EXPECT_FALSE(order.is_abandoned(jobs, now, everybody)) << "its own reader may be validating";
  become_job(8);
  EXPECT_TRUE(order.is_abandoned(jobs, now, everybody));
  read(1, 7);
  now += 1min;
  become_job(8);
  EXPECT_FALSE(order.is_abandoned(jobs, now, everybody)) << "it goes on";
}

}  // namespace
}  // namespace winnow
