#include "cache/prefetch_limit.h"

#include <gtest/gtest.h>

namespace winnow {
namespace {

using namespace std::chrono_literals;

// A source that answers in 10 ms as long as no more than `capacity` ask at once, and in proportion later else.
void answer(PrefetchLimit& limit, unsigned capacity, int times) {
  for (int i = 0; i < times; ++i) {
    const unsigned queue = std::max(1u, limit.value());
    limit.on_success(queue <= capacity ? 10ms : 10ms * queue / capacity);
  }
}

TEST(PrefetchLimit, GrowsToAllThatIsAllowedWhileTheSourceKeepsItsPace) {
  PrefetchLimit limit(32);
  EXPECT_EQ(limit.value(), 16u);
  answer(limit, 1000, 200);
  EXPECT_EQ(limit.value(), 32u);
}

TEST(PrefetchLimit, StaysNearWhatASlowerSourceCanDo) {
  PrefetchLimit limit(200);
  answer(limit, 10, 5000);
  EXPECT_GE(limit.value(), 8u);
  EXPECT_LE(limit.value(), 20u) << "the rest would only queue at the source";
}

TEST(PrefetchLimit, HalvesWithEveryFailureButNeverStops) {
  PrefetchLimit limit(32);
  answer(limit, 1000, 200);
  limit.on_failure();
  EXPECT_EQ(limit.value(), 16u);
  for (int i = 0; i < 20; ++i) limit.on_failure();
  EXPECT_EQ(limit.value(), 1u);
  answer(limit, 1000, 500);
  EXPECT_EQ(limit.value(), 32u);
}

TEST(PrefetchLimit, ASourceThatIsSlowForGoodIsTheNewNormal) {
  PrefetchLimit limit(32);
  answer(limit, 1000, 200);
  for (int i = 0; i < 3000; ++i) limit.on_success(100ms);
  EXPECT_EQ(limit.value(), 32u);
}

TEST(PrefetchLimit, ANewPaceIsFoundOutSoon) {
  PrefetchLimit limit(32);
  answer(limit, 1000, 200);
  unsigned least = 32;
  int needed = 0;
  for (; needed < 3000 && (least > 2 || limit.value() < 32); ++needed) {
    limit.on_success(25ms);
    least = std::min(least, limit.value());
  }
  EXPECT_LE(needed, 1000) << "one at a time, each of these takes as long as its answer";
}

TEST(PrefetchLimit, AnUnevenSourceIsNoSlowOne) {
  PrefetchLimit limit(32);
  for (int i = 0; i < 20'000; ++i) {
    limit.on_success(i % 7 == 0 ? 100ms : 15ms);
    ASSERT_GE(limit.value(), 7u) << "after " << i;  // less than that only while it looks how soon answers come
  }
  answer(limit, 1000, 100);
  EXPECT_GE(limit.value(), 24u);
}

TEST(PrefetchLimit, OneAtATimeIsAllowed) {
  PrefetchLimit limit(1);
  answer(limit, 1, 100);
  EXPECT_EQ(limit.value(), 1u);
}

}  // namespace
}  // namespace winnow
