#include "policy/weighted_draw.h"

#include <algorithm>

#include "policy/error.h"

namespace winnow {

WeightedDraw::WeightedDraw(std::span<const double> weights) {
  double total = 0;
  cumulative_.reserve(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    require_of_sample(static_cast<Index>(i), "weight", weights[i], kNotNegative);
    if (weights[i] > 0) last_positive_ = static_cast<Index>(i);
    cumulative_.push_back(total += weights[i]);
  }
  require("total weight", total, {.low = 0, .low_open = true});
}

Index WeightedDraw::draw(double unit) const {
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), unit * cumulative_.back());
  return found == cumulative_.end() ? last_positive_ : found - cumulative_.begin();
}

std::vector<Index> WeightedDraw::draw(Index count, Random& random) const {
  std::vector<Index> drawn(static_cast<std::size_t>(count));
  for (Index& one : drawn) one = draw(random.unit());
  return drawn;
}

}  // namespace winnow
