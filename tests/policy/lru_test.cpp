#include "policy/lru.h"

#include <gtest/gtest.h>

namespace winnow {
namespace {

TEST(Lru, HasNoVictimWhenEmpty) { EXPECT_EQ(Lru{}.victim(), std::nullopt); }

TEST(Lru, TheLeastRecentlyUsedLeavesFirst) {
  Lru lru;
  for (std::uint64_t id : {1, 2, 3}) lru.on_insert(SampleId{id}, {});
  lru.on_hit(SampleId{1});
  EXPECT_EQ(lru.victim(), SampleId{2});
  lru.on_remove(SampleId{2});
  EXPECT_EQ(lru.victim(), SampleId{3});
  lru.on_remove(SampleId{3});
  EXPECT_EQ(lru.victim(), SampleId{1});
  lru.on_remove(SampleId{1});
  EXPECT_EQ(lru.victim(), std::nullopt);
}

TEST(Lru, IgnoresIdsItDoesNotKnow) {
  Lru lru;
  lru.on_hit(SampleId{9});
  lru.on_remove(SampleId{9});
  lru.on_insert(SampleId{1}, {});
  lru.on_remove(SampleId{9});
  lru.on_hit(SampleId{9});
  EXPECT_EQ(lru.victim(), SampleId{1});
}

TEST(Lru, InsertingAgainCountsAsUse) {
  Lru lru;
  for (std::uint64_t id : {1, 2}) lru.on_insert(SampleId{id}, {});
  lru.on_insert(SampleId{1}, {});
  EXPECT_EQ(lru.victim(), SampleId{2});
}

TEST(Lru, RemovingFromTheMiddleKeepsTheOrder) {
  Lru lru;
  for (std::uint64_t id = 1; id <= 5; ++id) lru.on_insert(SampleId{id}, {});
  lru.on_remove(SampleId{3});
  lru.on_remove(SampleId{1});
  EXPECT_EQ(lru.victim(), SampleId{2});
  lru.on_remove(SampleId{2});
  EXPECT_EQ(lru.victim(), SampleId{4});
}

}  // namespace
}  // namespace winnow
