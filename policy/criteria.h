// IOWA's criteria: what makes a sample worth training on, as numbers. Higher is more important; `io` is high
// for samples that are cheap to fetch. Pure functions in double; the facts are checked where they enter.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "policy/sample.h"

namespace winnow {

enum class Criterion { entropy, margin, io, loss };

const std::vector<std::string>& criterion_names();  // in the order of the enumerators
std::string name_of(Criterion criterion);

// These are called for every sample at every epoch end, so they are here to be inlined.
inline double entropy_of_probability(double p_target) {  // −p·log2 p, 0 at 0
  return p_target == 0 ? 0 : -p_target * std::log2(p_target);
}
inline double entropy_of_cross_entropy(
    double loss) {  // the same of p = exp(−loss), exact also where p rounds to 1
  return loss * std::exp(-loss) / std::numbers::ln2;
}
inline double margin_of(double p_target, double p_other) { return 1 - (p_target - p_other); }

// ‖softmax(logits) − onehot(label)‖₂: a bound of the gradient's norm.
double gradient_bound(std::span<const double> logits, Index label);

// Cheapness of fetching, relative to the means over all samples with a measured fetch.
class IoCost {
 public:
  IoCost(double alpha, double mean_load_time, double mean_size);
  double score(double load_time, double size) const {
    return 1 / (alpha_ * relative(load_time, mean_load_time_) + (1 - alpha_) * relative(size, mean_size_));
  }

 private:
  // A mean of 0 says nothing about a sample, so its term is neutral.
  static double relative(double value, double mean) { return mean == 0 ? 1.0 : std::max(value / mean, 1e-6); }

  double alpha_;
  double mean_load_time_;
  double mean_size_;
};

std::vector<double> io_scores(std::span<const double> load_time, std::span<const double> size, double alpha);

}  // namespace winnow
