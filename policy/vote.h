// IOWA's thresholds and the vote over them. A score of NaN is "no score": it votes for its sample and takes
// no part in a quantile; so do all scores of a criterion that has no threshold yet.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/criteria.h"

namespace winnow {

enum class Orientation { highest, lowest };  // which end of the scores is category 1

struct ThresholdOptions {
  double beta = 0.5;         // how much of the former threshold stays
  double gamma = 0.1;        // factor on the value at the equal point
  double equal_point = 0.5;  // which quantile that is
};

// The adaptive threshold of one criterion.
class Threshold {
 public:
  explicit Threshold(const ThresholdOptions& options);
  Threshold(const ThresholdOptions& options, std::optional<double> value);  // goes on from a saved value

  // Takes in an epoch's scores. Without a single number among them the threshold keeps its value.
  void update(std::span<const double> scores);
  std::optional<double> value() const { return value_; }
  std::optional<double> par() const { return par_; }  // the last epoch's own proposal

 private:
  ThresholdOptions options_;
  std::optional<double> value_;
  std::optional<double> par_;
};

inline bool votes_for(double score, double threshold, Orientation orientation) {
  // Written so that NaN, on either side, is a vote for.
  return orientation == Orientation::highest ? !(score < threshold) : !(score > threshold);
}

// More than half; of two, one is enough.
inline bool wins(int votes, int voters) { return 2 * votes >= voters; }

struct Ballot {
  std::span<const double> scores;
  double threshold;  // NaN: none yet
};

std::vector<std::uint8_t> count_votes(std::span<const Ballot> ballots, Orientation orientation);

}  // namespace winnow
