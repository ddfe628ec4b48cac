#include "policy/vote.h"

#include <cmath>

#include "tests/policy/refusal.h"

namespace winnow {
namespace {

// Example 1 of the IOWA paper, Table II.
const std::vector<double> kEntropy{1.05, 3.2, 4.5, 0.12, 4.40, 1.20, 1.30, 2.20, 5.02, 1.98, 0.88, 0.96};
const std::vector<double> kMargin{1.33, 1.02, 0.30, 1.77, 1.20, 1.30, 0.90, 0.55, 1.99, 1.09, 1.80, 0.12};
const std::vector<double> kIo{12.00, 45.12, 20.01, 3.22, 4.55, 2.99, 5.88, 9.07, 6.04, 10.70, 8.90, 7.66};

std::vector<Index> winners(Orientation orientation) {
  std::vector<Ballot> ballots;
  for (const auto* scores : {&kEntropy, &kMargin, &kIo}) {
    Threshold threshold({.gamma = 1});
    threshold.update(*scores);
    ballots.push_back({*scores, *threshold.value()});
  }
  const std::vector<std::uint8_t> votes = count_votes(ballots, orientation);
  std::vector<Index> won;
  for (std::size_t i = 0; i < votes.size(); ++i) {
    if (wins(votes[i], 3)) won.push_back(static_cast<Index>(i));
  }
  return won;
}

TEST(Vote, ReproducesThePapersExampleWithTheLowestScores) {
  EXPECT_EQ(winners(Orientation::lowest), (std::vector<Index>{3, 5, 6, 11}));
}

TEST(Vote, WithTheHighestScoresTheOthersWin) {
  EXPECT_EQ(winners(Orientation::highest), (std::vector<Index>{0, 1, 2, 4, 7, 8, 9, 10}));
}

TEST(Vote, ASampleWithoutAScoreHasTheVote) {
  const std::vector<double> scores{0.1, NAN, 0.9};
  const Ballot ballot{scores, 0.5};
  EXPECT_EQ(count_votes({&ballot, 1}, Orientation::highest), (std::vector<std::uint8_t>{0, 1, 1}));
  const Ballot none_yet{scores, NAN};
  EXPECT_EQ(count_votes({&none_yet, 1}, Orientation::highest), (std::vector<std::uint8_t>{1, 1, 1}));
}

TEST(Threshold, KeepsItsValueThroughAnEpochWithoutScores) {
  Threshold threshold({.beta = 0.5, .gamma = 1});
  EXPECT_EQ(threshold.value(), std::nullopt);
  threshold.update(std::vector<double>{4});
  threshold.update(std::vector<double>{NAN, NAN});
  EXPECT_EQ(threshold.value(), 4.0);
  threshold.update(std::vector<double>{2});
  EXPECT_EQ(threshold.value(), 3.0);
}

TEST(Threshold, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(refusal_of([] { Threshold({.beta = 1.5}); }), "beta must be in [0, 1], got 1.5");
  EXPECT_EQ(refusal_of([] { Threshold({.gamma = -1}); }),
            "gamma must be a finite number of at least 0, got -1");
}

}  // namespace
}  // namespace winnow
