#include "tests/fs/prefetch_fixture.h"

namespace winnow {
namespace {

// Of a declared order, what is held comes near in that order, as far as there is room.
struct PrefetchNearTest : PrefetchTest {
  PrefetchNearTest() {
    order = samples(shuffled(3));
    for (const SampleId id : order) store.hold(id, true);
    store.room_near = 20 * kFileBytes;
  }
  void read(std::size_t place) {  // and its pages are dropped
    {
      const std::lock_guard lock(store.mutex);
      std::erase(store.near, order[place]);
    }
    open(node_of(order[place]));
  }
  std::vector<SampleId> brought() {
    const std::lock_guard lock(store.mutex);
    return store.near;
  }
  std::vector<SampleId> part(std::size_t from, std::size_t to) const {
    return {order.begin() + static_cast<std::ptrdiff_t>(from), order.begin() + static_cast<std::ptrdiff_t>(to)};
  }
  std::vector<SampleId> order;
};

TEST_F(PrefetchNearTest, WhatIsReadNextComesNearInItsOrder) {
  start();
  prefetch->declare(order);
  finish_all();
  EXPECT_EQ(brought(), part(0, 20));
  EXPECT_TRUE(store.follows);
  for (std::size_t i = 0; i < 7; ++i) read(i);
  finish_all();
  EXPECT_EQ(brought(), part(7, 20)) << "few reads make no room worth a look";
  for (std::size_t i = 7; i < 16; ++i) read(i);
  finish_all();
  EXPECT_GE(brought().size(), 4u + 8u);
  const std::vector<SampleId> near = brought();
  EXPECT_EQ(near, part(16, 16 + near.size()));
  EXPECT_TRUE(store.fetched.empty());
}

TEST_F(PrefetchNearTest, WhatWasReadOrIsNearIsPassedOver) {
  store.near = {order[1]};
  start();
  prefetch->declare(order);
  finish_all();
  std::vector<SampleId> expected{order[1], order[0]};
  for (std::size_t i = 2; i < 20; ++i) expected.push_back(order[i]);
  EXPECT_EQ(brought(), expected);
}

TEST_F(PrefetchNearTest, WhatIsBeingFetchedIsWaitedFor) {
  store.hold(order[3], false);
  start();
  prefetch->declare(order);
  while (!prefetch->counts().idle) std::this_thread::yield();
  EXPECT_EQ(brought(), part(0, 3));
  finish_all();
  EXPECT_EQ(brought(), part(0, 20));
  EXPECT_EQ(store.fetched, std::vector<std::string>{path(node_of(order[3]))});
}

TEST_F(PrefetchNearTest, WhatIsReadSoonIsFetchedThoughTheDiskHasNoRoom) {
  for (const std::size_t place : {2, 5, 150}) store.hold(order[place], false);
  store.room = 0;
  start();
  prefetch->declare(order);
  finish_all();
  EXPECT_EQ(brought(), part(0, 20));
  EXPECT_EQ(fetched(), 2u) << "the third is not read soon";
}

TEST_F(PrefetchNearTest, NamesThatTheKernelDoesNotKnowYetAreWaitedFor) {
  store.names_near_are_known = false;
  start();
  prefetch->declare(order);
  finish_all();
  EXPECT_TRUE(brought().empty());
  store.names_near_are_known = true;
  finish_until([&] { return brought().size() == 20; });
  EXPECT_EQ(brought(), part(0, 20));
}

TEST_F(PrefetchNearTest, NotWithoutTracking) {
  start({.at_once = 8, .window_bytes = 1 << 30, .tracked = false});
  prefetch->declare(order);
  finish_all();
  EXPECT_TRUE(brought().empty()) << "nobody would tell that it was read";
  EXPECT_FALSE(store.follows);
}

TEST_F(PrefetchNearTest, EndsWithTheOrder) {
  start();
  prefetch->declare(order);
  finish_all();
  prefetch->declare({});
  finish_all();
  EXPECT_FALSE(store.follows);
  for (std::size_t i = 0; i < 16; ++i) read(i);
  finish_all();
  EXPECT_EQ(brought(), part(16, 20));
}

}  // namespace
}  // namespace winnow
