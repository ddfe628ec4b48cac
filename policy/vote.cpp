#include "policy/vote.h"

#include "policy/error.h"
#include "policy/quantile.h"

namespace winnow {

Threshold::Threshold(const ThresholdOptions& options) : options_(options) {
  require("beta", options.beta, kUnit);
  require("gamma", options.gamma, kNotNegative);
  require("equal_point", options.equal_point, kUnit);
}

Threshold::Threshold(const ThresholdOptions& options, std::optional<double> value) : Threshold(options) {
  value_ = value;
}

void Threshold::update(std::span<const double> scores) {
  const std::optional<double> equal = quantile(scores, options_.equal_point);
  if (!equal) return;
  par_ = *equal * options_.gamma;
  value_ = value_ ? options_.beta * *value_ + (1 - options_.beta) * *par_ : *par_;
}

std::vector<std::uint8_t> count_votes(std::span<const Ballot> ballots, Orientation orientation) {
  if (ballots.empty()) refuse("criteria", "at least one", "none");
  std::vector<std::uint8_t> votes(ballots.front().scores.size());
  for (const Ballot& ballot : ballots) {
    require_length("scores", ballot.scores.size(), votes.size());
    for (std::size_t i = 0; i < votes.size(); ++i) {
      votes[i] += votes_for(ballot.scores[i], ballot.threshold, orientation);
    }
  }
  return votes;
}

}  // namespace winnow
