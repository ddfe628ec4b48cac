#include "policy/draw_weights.h"

#include <algorithm>
#include <cmath>

#include "policy/error.h"
#include "policy/quantile.h"
#include "policy/rank_order.h"

namespace winnow {

double online_pressure(const OnlineOptions& options) {
  require("epochs", static_cast<double>(options.epochs), kAtLeastOne);
  require_index("epoch", options.epoch, options.epochs);
  require("pressure_start", options.pressure_start, kAtLeastOne);
  require("pressure_end", options.pressure_end, kAtLeastOne);
  if (options.epochs == 1) return options.pressure_start;
  const double progress = static_cast<double>(options.epoch) / static_cast<double>(options.epochs - 1);
  return options.pressure_start * std::pow(options.pressure_end / options.pressure_start, progress);
}

std::vector<double> online_probabilities(std::span<const double> loss, double pressure) {
  for (std::size_t i = 0; i < loss.size(); ++i) {
    if (std::isinf(loss[i])) refuse_sample(static_cast<Index>(i), "loss", kFinite.text(), loss[i]);
  }
  const std::vector<Index> order = rank_descending(loss);
  std::vector<double> probability(loss.size());
  const auto n = static_cast<double>(loss.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    probability[static_cast<std::size_t>(order[rank])] =
        std::exp(-std::log(pressure) * static_cast<double>(rank) / n);
  }
  double total = 0;
  for (const double one : probability) total += one;
  for (double& one : probability) one /= total;
  return probability;
}

std::vector<double> active_bias_weights(std::span<const RunningMean> p_target,
                                        std::optional<double> epsilon) {
  if (epsilon) require("epsilon", *epsilon, kNotNegative);
  std::vector<double> weights(p_target.size());
  double sum = 0;
  std::size_t known = 0;
  for (std::size_t i = 0; i < p_target.size(); ++i) {
    if (p_target[i].count < 2) continue;
    const double variance = p_target[i].variance();
    weights[i] = std::sqrt(variance + variance * variance / (p_target[i].count - 1));
    sum += weights[i];
    ++known;
  }
  if (known == 0) return std::vector<double>(p_target.size(), 1.0);
  const double mean = sum / static_cast<double>(known);
  const double smoothing = epsilon.value_or(mean);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = (p_target[i].count < 2 ? mean : weights[i]) + smoothing;
  }
  return weights;
}

const ParameterTable<CoresetOptions>& coreset_parameters() {
  using O = CoresetOptions;
  static const auto table =
      ParameterTable<O>("coreset")
          .number("fraction", &O::fraction, kFraction, "share of the data set that is chosen")
          .choice("uncertainty", &O::uncertainty, {"entropy", "margin", "least_confidence"},
                  "by what samples are ranked");
  return table;
}

double uncertainty_of(std::span<const double> probabilities, Uncertainty kind) {
  if (probabilities.size() < 2)
    refuse("probability", "a vector of at least 2 classes", std::to_string(probabilities.size()));
  for (const double p : probabilities) require("probability", p, kUnit);
  if (kind == Uncertainty::entropy) {
    double bits = 0;
    for (const double p : probabilities) bits -= p == 0 ? 0 : p * std::log2(p);
    return bits;
  }
  double first = 0;
  double second = 0;
  for (const double p : probabilities) {
    if (p > first) {
      second = first;
      first = p;
    } else {
      second = std::max(second, p);
    }
  }
  return kind == Uncertainty::margin ? 1 - (first - second) : 1 - first;
}

std::vector<Index> coreset(std::span<const double> uncertainty, double fraction) {
  require("fraction", fraction, kFraction);
  std::vector<Index> order = rank_descending(uncertainty);
  order.resize(static_cast<std::size_t>(ceil_of(fraction, static_cast<Index>(uncertainty.size()))));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace winnow
