#include "policy/groups.h"

#include <algorithm>

#include "policy/hamming.h"
#include "policy/random.h"
#include "policy/redundancy.h"
#include "policy/star_clustering.h"
#include "tests/policy/refusal.h"

namespace winnow {
namespace {

// The definition, word for word.
std::vector<std::uint32_t> stars_by_definition(std::span<const std::uint64_t> hashes, int distance,
                                               std::size_t most) {
  constexpr std::uint32_t kFree = ~0U;
  std::vector<std::uint32_t> star(hashes.size(), kFree);
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    if (star[i] != kFree) continue;
    star[i] = i;
    std::size_t members = 1;
    for (std::uint32_t j = i + 1; j < hashes.size() && (most == 0 || members < most); ++j) {
      if (star[j] != kFree || hamming(hashes[i], hashes[j]) > distance) continue;
      star[j] = i;
      ++members;
    }
  }
  return star;
}

std::vector<std::uint64_t> around_centres(std::size_t count, std::uint64_t centres, int flips,
                                          Random& random) {
  std::vector<std::uint64_t> middle, hashes;
  for (std::uint64_t i = 0; i < centres; ++i) middle.push_back(random.next());
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t hash = middle[random.below(centres)];
    for (int f = 0; f < flips; ++f) hash ^= std::uint64_t{1} << random.below(64);
    hashes.push_back(hash);
  }
  return hashes;
}

TEST(StarClustering, EqualsTheDefinitionWhateverTheHashes) {
  Random random(5);
  for (const std::uint64_t centres : {1, 20, 900}) {
    for (const int flips : {0, 3, 8, 14}) {
      const std::vector<std::uint64_t> hashes = around_centres(900, centres, flips, random);
      for (const int distance : {0, 2, 6, 8, 20, 64}) {
        for (const std::size_t most : {0, 1, 2, 8}) {
          ASSERT_EQ(cluster_stars(hashes, distance, most), stars_by_definition(hashes, distance, most))
              << centres << " centres, " << flips << " flips, distance " << distance << ", at most " << most;
        }
      }
    }
  }
}

TEST(StarClustering, IsExactWhereTablesAreUsed) {
  Random random(6);
  const std::vector<std::uint64_t> hashes = around_centres(8000, 2000, 4, random);
  for (const int distance : {1, 4, 8}) {
    EXPECT_EQ(cluster_stars(hashes, distance, 8), stars_by_definition(hashes, distance, 8)) << distance;
  }
}

TEST(FirstWithin, FindsTheFirstFromWhereItIsToldToLook) {
  std::vector<std::uint64_t> hashes(100, ~std::uint64_t{0});
  hashes[37] = 1;
  hashes[90] = 3;
  EXPECT_EQ(first_within(hashes, 0, 0, 1), 37U);
  EXPECT_EQ(first_within(hashes, 38, 0, 1), 100U);
  EXPECT_EQ(first_within(hashes, 38, 0, 2), 90U);
}

TEST(Groups, NeverMixLabels) {
  const std::vector<std::uint64_t> hash{5, 5, 5, 5};
  const std::vector<std::int64_t> label{0, 1, 0, 1};
  const Groups groups({hash, label}, {});
  EXPECT_EQ(groups.representative(2), 0);
  EXPECT_EQ(groups.representative(3), 1);
  EXPECT_EQ(std::vector<Index>(groups.members(2).begin(), groups.members(2).end()),
            (std::vector<Index>{0, 2}));
}

TEST(Groups, FlatImagesAreAlikeOnlyIfTheirContentIs) {
  const std::vector<std::uint64_t> hash{0, 0, 0, 0}, digest{1, 2, 1, 1};
  const std::vector<std::int64_t> label{0, 0, 0, 0};
  const std::vector<std::uint8_t> flat{1, 1, 1, 0};
  const Groups groups({hash, label, flat, digest}, {});
  EXPECT_EQ(groups.representative(2), 0);
  EXPECT_EQ(groups.representative(1), 1);
  EXPECT_EQ(groups.representative(3), 3);
}

TEST(Groups, RefuseWhatTheyCannotUse) {
  const std::vector<std::uint64_t> hash{1, 2};
  const std::vector<std::int64_t> label{0};
  EXPECT_EQ(refusal_of([&] { Groups({hash, label}, {}); }), "label must have 2 values, got 1");
  EXPECT_EQ(refusal_of([&] {
              Groups({hash, {}}, {.max_distance = 65});
            }),
            "max_distance must be an integer in [0, 64], got 65");
}

TEST(RRepeat, PrefersTheLeastUsedThenTheNearestAndStopsAtItsLimit) {
  const std::vector<std::uint64_t> hash{0, 1, 3, 7};
  const std::vector<std::int64_t> label{0, 0, 0, 0};
  const Groups groups({hash, label}, {.max_distance = 3});
  RRepeat repeat(groups, 2);
  const auto cached = [](Index i) { return i >= 2; };
  std::vector<std::optional<Index>> delivered;
  for (int i = 0; i < 5; ++i) delivered.push_back(repeat.deliver(0, cached));
  EXPECT_EQ(delivered, (std::vector<std::optional<Index>>{2, 3, 2, 3, std::nullopt}));
  EXPECT_EQ(repeat.deliver(2, cached), 2);  // its own requests are no substitution
  repeat.begin_epoch();
  EXPECT_EQ(repeat.deliver(0, cached), 2);
  EXPECT_EQ(refusal_of([&] { RRepeat(groups, 0); }),
            "max_repeats must be a finite number of at least 1, got 0");
}

}  // namespace
}  // namespace winnow
