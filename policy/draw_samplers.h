// The samplers without buckets: uniform (also the equal-work control), Online batch selection, Active Bias.
#pragma once

#include <memory>
#include <optional>

#include "policy/sampler.h"

namespace winnow {

struct UniformOptions {
  double fraction = 1;  // of the data set, drawn anew every epoch
  std::uint64_t seed = 0;
};

struct OnlineSamplerOptions {
  std::int64_t epochs = 100;
  double pressure_start = 100;
  double pressure_end = 1;
  std::uint64_t seed = 0;
};

struct ActiveBiasOptions {
  std::optional<double> epsilon;
  std::uint64_t seed = 0;
};

const ParameterTable<UniformOptions>& uniform_parameters();
const ParameterTable<OnlineSamplerOptions>& online_parameters();
const ParameterTable<ActiveBiasOptions>& active_bias_parameters();

std::unique_ptr<Sampler> make_uniform(const UniformOptions& options);
std::unique_ptr<Sampler> make_online(const OnlineSamplerOptions& options);
std::unique_ptr<Sampler> make_active_bias(const ActiveBiasOptions& options);

}  // namespace winnow
