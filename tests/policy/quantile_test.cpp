#include "policy/quantile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "policy/random.h"
#include "policy/rank_order.h"

namespace winnow {
namespace {

double by_sorting(std::vector<double> values, double q) {
  std::erase_if(values, [](double one) { return std::isnan(one); });
  std::sort(values.begin(), values.end());
  const double position = static_cast<double>(values.size() - 1) * q;
  const auto at = static_cast<std::size_t>(position);
  const double next = values[std::min(at + 1, values.size() - 1)];
  return values[at] + (position - std::floor(position)) * (next - values[at]);
}

std::vector<double> mixed(std::size_t count, Random& random) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t kind = random.below(5);
    if (kind == 0) values.push_back(NAN);
    if (kind == 1) values.push_back(std::floor(random.unit() * 4));  // ties
    if (kind == 2) values.push_back(-random.unit());
    if (kind >= 3) values.push_back(std::exp(20 * random.unit() - 10));
  }
  values.push_back(0.0);
  values.push_back(-0.0);
  return values;
}

TEST(Quantile, EqualsTheOneOfSortedValuesToTheBit) {
  Random random(1);
  for (const std::size_t count : {1, 2, 3, 10, 4096, 4097, 20000}) {
    const std::vector<double> values = mixed(count, random);
    for (const double q : {0.0, 0.12, 0.5, 0.9, 1.0})
      EXPECT_EQ(quantile(values, q), by_sorting(values, q)) << count << " " << q;
  }
}

TEST(Quantile, OfManyEqualValuesIsThatValue) {
  EXPECT_EQ(quantile(std::vector<double>(100000, 0.25), 0.5), 0.25);
}

TEST(Quantile, OfNothingIsNothing) {
  EXPECT_EQ(quantile({}, 0.5), std::nullopt);
  EXPECT_EQ(quantile(std::vector<double>(5000, NAN), 0.5), std::nullopt);
}

TEST(CeilOf, IsTheMathematicalOne) {
  EXPECT_EQ(ceil_of(0.07, 100), 7);
  EXPECT_EQ(ceil_of(0.07, 100'000'000), 7'000'000);
  EXPECT_EQ(ceil_of(0.3, 10), 3);
  EXPECT_EQ(ceil_of(0.31, 10), 4);
  EXPECT_EQ(ceil_of(1, 9), 9);
  EXPECT_EQ(ceil_of(0.5, 0), 0);
}

TEST(RankDescending, EqualsAStableSortWithUnknownValuesFirst) {
  Random random(2);
  for (const std::size_t count : {0, 1, 5, 3000, 70000}) {
    const std::vector<double> values = mixed(count, random);
    std::vector<Index> expected(values.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<Index>(i);
    const auto key = [&](Index i) {
      const double value = values[static_cast<std::size_t>(i)];
      return std::isnan(value) ? INFINITY : value;
    };
    std::stable_sort(expected.begin(), expected.end(), [&](Index a, Index b) { return key(a) > key(b); });
    EXPECT_EQ(rank_descending(values), expected);
  }
}

TEST(RankDescending, TellsApartWhatDiffersOnlyInTheLastBits) {
  const double one = 1;
  const std::vector<double> values{one, std::nextafter(one, 2), std::nextafter(one, 0), one,
                                   std::nextafter(one, 2)};
  EXPECT_EQ(rank_descending(values), (std::vector<Index>{1, 4, 0, 3, 2}));
}

}  // namespace
}  // namespace winnow
