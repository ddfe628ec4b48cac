// Drawing samples with given weights, with replacement, by inversion of the running sum.
#pragma once

#include <span>
#include <vector>

#include "policy/random.h"

namespace winnow {

class WeightedDraw {
 public:
  explicit WeightedDraw(std::span<const double> weights);  // finite, not negative, not all 0

  // The first index whose cumulative weight exceeds unit · total; else the last with a positive weight.
  Index draw(double unit) const;
  std::vector<Index> draw(Index count, Random& random) const;

 private:
  std::vector<double> cumulative_;
  Index last_positive_ = 0;
};

}  // namespace winnow
