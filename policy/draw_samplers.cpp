#include "policy/draw_samplers.h"

#include <numeric>

#include "policy/draw_weights.h"
#include "policy/quantile.h"
#include "policy/random.h"
#include "policy/weighted_draw.h"

namespace winnow {
namespace {

// What these have in common: an order over the whole data set that is dealt out, and no state but the epoch.
class DrawSampler : public Sampler {
 public:
  explicit DrawSampler(std::uint64_t seed) : seed_(seed) {}

  std::vector<Index> order(const Scores& scores, const EpochRequest& request) const override {
    return part_of(draw(scores, request.epoch), Layout::stripes, request.worker, request.equalise);
  }
  EpochDecision end_epoch(Scores& scores, const EpochTimes&) override {
    scores.take_accuracy();
    return {};
  }
  void save(StateWriter& state) const override { state.open("draw 1"); }
  void load(StateReader& state) override { state.open("draw 1"); }

 protected:
  virtual std::vector<Index> draw(const Scores& scores, Index epoch) const = 0;
  Random random(Purpose purpose, Index epoch) const { return Random(sub_seed(seed_, purpose, epoch)); }

 private:
  std::uint64_t seed_;
};

class UniformSampler final : public DrawSampler {
 public:
  explicit UniformSampler(const UniformOptions& options) : DrawSampler(options.seed), options_(options) {
    uniform_parameters().check(options);
  }

 private:
  std::vector<Index> draw(const Scores& scores, Index epoch) const override {
    std::vector<Index> ids(static_cast<std::size_t>(scores.samples()));
    std::iota(ids.begin(), ids.end(), Index{0});
    if (options_.fraction < 1) {
      const auto count = static_cast<std::size_t>(ceil_of(options_.fraction, scores.samples()));
      ids = random(Purpose::controls, epoch).pick(std::move(ids), count);
    }
    random(Purpose::epoch_shuffle, epoch).shuffle(std::span<Index>(ids));
    return ids;
  }

  UniformOptions options_;
};

class OnlineSampler final : public DrawSampler {
 public:
  explicit OnlineSampler(const OnlineSamplerOptions& options) : DrawSampler(options.seed), options_(options) {
    online_parameters().check(options);
  }

 private:
  std::vector<Index> draw(const Scores& scores, Index epoch) const override {
    std::vector<double> loss(static_cast<std::size_t>(scores.samples()));
    for (std::size_t i = 0; i < loss.size(); ++i) loss[i] = scores.loss(static_cast<Index>(i));
    const double pressure =
        online_pressure({epoch, options_.epochs, options_.pressure_start, options_.pressure_end});
    Random source = random(Purpose::online, epoch);
    return WeightedDraw(online_probabilities(loss, pressure)).draw(scores.samples(), source);
  }

  OnlineSamplerOptions options_;
};

class ActiveBiasSampler final : public DrawSampler {
 public:
  explicit ActiveBiasSampler(const ActiveBiasOptions& options)
      : DrawSampler(options.seed), options_(options) {
    active_bias_parameters().check(options);
  }

 private:
  std::vector<Index> draw(const Scores& scores, Index epoch) const override {
    std::vector<RunningMean> histories(static_cast<std::size_t>(scores.samples()));
    for (std::size_t i = 0; i < histories.size(); ++i)
      histories[i] = scores.p_target_history(static_cast<Index>(i));
    Random source = random(Purpose::active_bias, epoch);
    return WeightedDraw(active_bias_weights(histories, options_.epsilon)).draw(scores.samples(), source);
  }

  ActiveBiasOptions options_;
};

}  // namespace

const ParameterTable<UniformOptions>& uniform_parameters() {
  using O = UniformOptions;
  static const auto table =
      ParameterTable<O>("uniform")
          .number("fraction", &O::fraction, kFraction, "share of the data set an epoch trains")
          .seed(&O::seed);
  return table;
}

const ParameterTable<OnlineSamplerOptions>& online_parameters() {
  using O = OnlineSamplerOptions;
  static const auto table =
      ParameterTable<O>("online")
          .integer("epochs", &O::epochs, kAtLeastOne, "length of the training, over which the pressure falls")
          .number("pressure_start", &O::pressure_start, kAtLeastOne, "selection pressure of the first epoch")
          .number("pressure_end", &O::pressure_end, kAtLeastOne, "selection pressure of the last epoch")
          .seed(&O::seed);
  return table;
}

const ParameterTable<ActiveBiasOptions>& active_bias_parameters() {
  using O = ActiveBiasOptions;
  static const auto table =
      ParameterTable<O>("active_bias")
          .optional_number("epsilon", &O::epsilon, kNotNegative, "mean",
                           "what is added to every weight; mean: the mean of the weights")
          .seed(&O::seed);
  return table;
}

std::unique_ptr<Sampler> make_uniform(const UniformOptions& options) {
  return std::make_unique<UniformSampler>(options);
}

std::unique_ptr<Sampler> make_online(const OnlineSamplerOptions& options) {
  return std::make_unique<OnlineSampler>(options);
}

std::unique_ptr<Sampler> make_active_bias(const ActiveBiasOptions& options) {
  return std::make_unique<ActiveBiasSampler>(options);
}

}  // namespace winnow
