#include "policy/importance.h"

#include <algorithm>

#include "policy/error.h"

namespace winnow {

void renew_importance(std::span<double> importance, Measure measure,
                      const std::function<RunningMean(Index)>& losses_of) {
  std::uint32_t longest = 0;
  for (std::size_t i = 0; i < importance.size(); ++i)
    longest = std::max(longest, losses_of(static_cast<Index>(i)).count);
  const bool by_variance = measure == Measure::variance && longest > 1;
  double sum = 0;
  std::size_t known = 0;
  for (std::size_t i = 0; i < importance.size(); ++i) {
    const RunningMean losses = losses_of(static_cast<Index>(i));
    if (losses.count >= (by_variance ? 2U : 1U))
      importance[i] = by_variance ? losses.variance() : losses.mean;
    if (importance[i] != importance[i]) continue;
    sum += importance[i];
    ++known;
  }
  const double mean = known == 0 ? 0 : sum / static_cast<double>(known);
  for (double& one : importance) {
    if (one != one) one = mean;
  }
}

std::vector<Index> interval_starts(Index epochs, Index warmup_epochs, Index interval_epochs) {
  require("epochs", static_cast<double>(epochs), kNotNegative);
  require("warmup_epochs", static_cast<double>(warmup_epochs), kNotNegative);
  require("interval_epochs", static_cast<double>(interval_epochs), kAtLeastOne);
  std::vector<Index> starts;
  for (Index epoch = warmup_epochs; epoch < epochs; epoch += interval_epochs) starts.push_back(epoch);
  return starts;
}

}  // namespace winnow
