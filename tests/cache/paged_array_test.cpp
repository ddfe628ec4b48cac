#include "policy/paged_array.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace winnow {
namespace {

TEST(PagedArray, ReadsUnsetEntriesAsDefault) {
  const PagedArray<int> array;
  EXPECT_EQ(array.get(0), 0);
  EXPECT_EQ(array.get(UINT64_MAX), 0);
  EXPECT_EQ(array.next_set(0), std::nullopt);
}

TEST(PagedArray, KeepsWhatWasSet) {
  PagedArray<int> array;
  array.set(1023, 7);
  array.set(1024, 8);
  array.set(5000, 9);
  EXPECT_EQ(array.get(1023), 7);
  EXPECT_EQ(array.get(1024), 8);
  EXPECT_EQ(array.get(5000), 9);
  EXPECT_EQ(array.get(4999), 0);
}

TEST(PagedArray, ClearingFarAwayCostsNothing) {
  PagedArray<int> array;
  array.set(UINT64_MAX / 2, 0);  // would need all memory there is, if it made pages
  EXPECT_EQ(array.get(UINT64_MAX / 2), 0);
}

TEST(PagedArray, FindsTheNextSetEntryAcrossPages) {
  PagedArray<int> array;
  array.set(10, 1);
  array.set(4096, 1);
  EXPECT_EQ(array.next_set(0), 10u);
  EXPECT_EQ(array.next_set(10), 10u);
  EXPECT_EQ(array.next_set(11), 4096u);
  EXPECT_EQ(array.next_set(4097), std::nullopt);
}

TEST(PagedArray, AClearedPageIsUsableAgain) {
  PagedArray<int> array;
  array.set(5, 1);
  array.set(5, 0);
  EXPECT_EQ(array.next_set(0), std::nullopt);
  array.set(6, 2);
  EXPECT_EQ(array.get(5), 0);
  EXPECT_EQ(array.next_set(0), 6u);
}

TEST(PagedArray, AgreesWithAMapOverRandomOperations) {
  PagedArray<int> array;
  std::map<std::uint64_t, int> model;
  std::mt19937 random(20);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t index = random() % 6000;
    const int value = static_cast<int>(random() % 3);
    array.set(index, value);
    value == 0 ? model.erase(index) : (model[index] = value, 0u);
    const std::uint64_t asked = random() % 6000;
    const auto next = model.lower_bound(asked);
    ASSERT_EQ(array.next_set(asked), next == model.end() ? std::nullopt : std::optional(next->first));
  }
  for (std::uint64_t index = 0; index < 6000; ++index) {
    ASSERT_EQ(array.get(index), model.contains(index) ? model[index] : 0);
  }
}

}  // namespace
}  // namespace winnow
