// IOWA's criteria: what makes a sample worth training on, as numbers. Higher is more important; `io` is high
// for samples that are cheap to fetch. Pure functions in double; the facts are checked where they enter.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/sample.h"

namespace winnow {

enum class Criterion { entropy, margin, io, loss };

const std::vector<std::string>& criterion_names();  // in the order of the enumerators
std::string name_of(Criterion criterion);

double entropy_of_probability(double p_target);  // −p·log2 p, 0 at 0
double entropy_of_cross_entropy(double loss);  // the same of p = exp(−loss), exact also where p rounds to 1
double margin_of(double p_target, double p_other);

// ‖softmax(logits) − onehot(label)‖₂: a bound of the gradient's norm.
double gradient_bound(std::span<const double> logits, Index label);

// Cheapness of fetching, relative to the means over all samples with a measured fetch.
class IoCost {
 public:
  IoCost(double alpha, double mean_load_time, double mean_size);
  double score(double load_time, double size) const;

 private:
  double alpha_;
  double mean_load_time_;
  double mean_size_;
};

std::vector<double> io_scores(std::span<const double> load_time, std::span<const double> size, double alpha);

}  // namespace winnow
