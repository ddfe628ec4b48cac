#include "policy/criteria.h"

#include <algorithm>
#include <cmath>

#include "policy/error.h"

namespace winnow {
namespace {

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace

const std::vector<std::string>& criterion_names() {
  static const std::vector<std::string> names{"entropy", "margin", "io", "loss"};
  return names;
}

std::string name_of(Criterion criterion) { return criterion_names()[static_cast<std::size_t>(criterion)]; }

double gradient_bound(std::span<const double> logits, Index label) {
  require_index("label", label, static_cast<Index>(logits.size()));
  const double largest = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const double logit : logits) total += std::exp(logit - largest);
  double squares = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double difference =
        std::exp(logits[i] - largest) / total - (static_cast<Index>(i) == label ? 1 : 0);
    squares += difference * difference;
  }
  return std::sqrt(squares);
}

IoCost::IoCost(double alpha, double mean_load_time, double mean_size)
    : alpha_(alpha), mean_load_time_(mean_load_time), mean_size_(mean_size) {
  require("alpha", alpha, kUnit);
}

std::vector<double> io_scores(std::span<const double> load_time, std::span<const double> size, double alpha) {
  require_length("size", size.size(), load_time.size());
  for (std::size_t i = 0; i < size.size(); ++i) {
    require_of_sample(static_cast<Index>(i), "load_time", load_time[i], kNotNegative);
    require_of_sample(static_cast<Index>(i), "size", size[i], kNotNegative);
  }
  const IoCost cost(alpha, mean_of(load_time), mean_of(size));
  std::vector<double> scores(size.size());
  for (std::size_t i = 0; i < size.size(); ++i) scores[i] = cost.score(load_time[i], size[i]);
  return scores;
}

}  // namespace winnow
