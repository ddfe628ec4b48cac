#include "fs/lookup_counts.h"

#include <gtest/gtest.h>

namespace winnow {
namespace {

constexpr NodeId kNode{5};

TEST(LookupCounts, ANodeIsGoneWhenForgottenAsOftenAsGiven) {
  LookupCounts counts;
  for (int i = 0; i < 3; ++i) counts.add(kNode);
  EXPECT_FALSE(counts.forget(kNode, 1));
  EXPECT_FALSE(counts.forget(kNode, 1));
  EXPECT_TRUE(counts.forget(kNode, 1));
}

TEST(LookupCounts, AForgetThatComesAfterANewerLookupDoesNotEndIt) {
  LookupCounts counts;
  counts.add(kNode);
  counts.add(kNode);  // before the kernel's forget of the first arrives
  EXPECT_FALSE(counts.forget(kNode, 1));
}

TEST(LookupCounts, ANodeOfAnEarlierProcessIsGoneAtItsFirstForget) {
  EXPECT_TRUE(LookupCounts().forget(kNode, 7));
}

TEST(LookupCounts, ForgettingTooOftenEndsAtZero) {
  LookupCounts counts;
  counts.add(kNode);
  EXPECT_TRUE(counts.forget(kNode, UINT64_MAX));
  counts.add(kNode);
  counts.add(kNode);
  EXPECT_FALSE(counts.forget(kNode, 1));
}

TEST(LookupCounts, NodesAreCountedApart) {
  LookupCounts counts;
  counts.add(kNode);
  counts.add(NodeId{6});
  EXPECT_TRUE(counts.forget(kNode, 1));
  EXPECT_TRUE(counts.forget(NodeId{6}, 1));
}

}  // namespace
}  // namespace winnow
