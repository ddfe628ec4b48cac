// The weights of the samplers that draw with replacement, and the coreset of Select via Proxy.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/parameters.h"
#include "policy/running_mean.h"
#include "policy/sample.h"

namespace winnow {

// Online batch selection: exponentially more pressure on high ranks early in training.
struct OnlineOptions {
  Index epoch = 0;
  Index epochs = 1;
  double pressure_start = 100;
  double pressure_end = 1;
};
double online_pressure(const OnlineOptions& options);
std::vector<double> online_probabilities(std::span<const double> loss, double pressure);  // NaN: never scored

// Active Bias: weight by how much a sample's predicted probability still moves. epsilon nullopt: the mean.
std::vector<double> active_bias_weights(std::span<const RunningMean> p_target, std::optional<double> epsilon);

// Select via Proxy: the most uncertain samples of a proxy model, chosen once.
enum class Uncertainty { entropy, margin, least_confidence };
struct CoresetOptions {
  double fraction = 0.5;
  Uncertainty uncertainty = Uncertainty::entropy;
};
const ParameterTable<CoresetOptions>& coreset_parameters();
double uncertainty_of(std::span<const double> probabilities, Uncertainty kind);  // a whole probability vector
std::vector<Index> coreset(std::span<const double> uncertainty, double fraction);  // ascending

}  // namespace winnow
