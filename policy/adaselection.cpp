#include "policy/adaselection.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/quantile.h"

namespace winnow {
namespace {

void require_each(std::string_view field, std::span<const double> values, const Interval& range) {
  for (std::size_t i = 0; i < values.size(); ++i)
    require_of_sample(static_cast<Index>(i), field, values[i], range);
}

double mean_at(std::span<const double> loss, std::span<const Index> selected) {
  double sum = 0;
  for (const Index one : selected) sum += loss[static_cast<std::size_t>(one)];
  return sum / static_cast<double>(selected.size());
}

}  // namespace

const ParameterTable<AdaSelectionOptions>& adaselection_parameters() {
  using O = AdaSelectionOptions;
  static const auto table =
      ParameterTable<O>("adaselection")
          .list("methods", &O::methods, method_names(), "uniform+big_loss+small_loss",
                "the methods that are mixed")
          .integer("batch", &O::batch, kNotNegative, "nominal batch size; 0 = that of the first batch")
          .number("rate", &O::rate, kFraction, "share of a batch that is kept")
          .number("beta", &O::beta, {.low = -1, .high = 1},
                  "how strongly method weights follow the change of loss")
          .number("weight_floor", &O::weight_floor, kUnit, "share of the weight that is dealt out evenly")
          .choice("weight_rule", &O::weight_rule, {"relative", "log"}, "how a change of loss is measured")
          .flag("curriculum", &O::curriculum, "whether high losses are held back by the curriculum reward")
          .number("curriculum_power", &O::curriculum_power, kFinite, "power of the step number in the reward")
          .choice("curriculum_scale", &O::curriculum_scale, {"squares", "mean"},
                  "what the reward divides losses by")
          .number("adaboost_margin", &O::adaboost_margin, {0, 1, true, true},
                  "distance of the largest loss from 1")
          .integer("worker", &O::worker, kNotNegative, "number of the worker, so that its draws are its own")
          .seed(&O::seed)
          .rule([](const O& o) {
            if (o.methods.empty())
              refuse("methods", "at least one of " + joined(method_names(), ", "), "none");
          });
  return table;
}

AdaSelection::AdaSelection(const AdaSelectionOptions& options) : options_(options), random_(0) {
  adaselection_parameters().check(options);
  const std::size_t count = options.methods.size();
  detail_.alpha.resize(count);
  detail_.method_selection.resize(count);
  detail_.weights.assign(count, 1.0 / static_cast<double>(count));
  set_epoch(0);
}

void AdaSelection::set_epoch(Index epoch) {
  require("epoch", static_cast<double>(epoch), kNotNegative);
  random_ = Random(sub_seed(options_.seed, Purpose::uniform_method, epoch, options_.worker));
}

bool AdaSelection::uses(Method method) const {
  return std::find(options_.methods.begin(), options_.methods.end(), method) != options_.methods.end();
}

void AdaSelection::check(const Batch& batch) const {
  if (batch.loss.empty()) refuse("loss", "at least 1 value", "an empty batch");
  if (options_.batch > 0 && batch.loss.size() > static_cast<std::size_t>(options_.batch)) {
    refuse("loss", "at most " + std::to_string(options_.batch) + " values, the nominal batch",
           std::to_string(batch.loss.size()));
  }
  require_each("loss", batch.loss, kFinite);
  if (uses(Method::grad_norm)) {
    require_length("grad", batch.grad.size(), batch.loss.size());
    require_each("grad", batch.grad, kNotNegative);
  }
  if (!batch.draws.empty()) {
    require_length("draws", batch.draws.size(), batch.loss.size());
    require_each("draws", batch.draws, kUnit);
  }
}

const Selection& AdaSelection::select(const Batch& given) {
  check(given);
  if (options_.batch == 0) options_.batch = static_cast<std::int64_t>(given.loss.size());
  Batch batch = given;
  if (batch.draws.empty() && uses(Method::uniform)) {
    draws_.resize(batch.loss.size());
    for (double& one : draws_) one = random_.unit();
    batch.draws = draws_;
  }
  detail_.k = std::max<Index>(1, ceil_of(options_.rate, static_cast<Index>(batch.loss.size())));
  const std::vector<double> former_loss = detail_.method_loss;
  ++steps_;
  rate_by_methods(batch);
  if (steps_ > 1) update_weights(former_loss);
  update_reward(batch.loss);
  update_score();
  largest(detail_.score, detail_.k, selection_.kept);
  accumulate();
  return selection_;
}

void AdaSelection::rate_by_methods(const Batch& batch) {
  detail_.method_loss.resize(options_.methods.size());
  for (std::size_t m = 0; m < options_.methods.size(); ++m) {
    const Method method = options_.methods[m];
    method_values(method, batch, options_.adaboost_margin, values_);
    softmax(values_, detail_.alpha[m]);
    method_selection(method, batch.loss, values_, detail_.k, detail_.method_selection[m]);
    detail_.method_loss[m] = mean_at(batch.loss, detail_.method_selection[m]);
  }
}

double AdaSelection::change(double former, double current) const {
  if (former <= 0) return 0;
  if (options_.weight_rule == WeightRule::relative) return std::clamp((former - current) / former, -1.0, 1.0);
  return current <= 0 ? 0 : std::clamp(std::log(former / current), -1.0, 1.0);
}

void AdaSelection::update_weights(const std::vector<double>& former_loss) {
  std::vector<double>& weights = detail_.weights;
  for (std::size_t m = 0; m < weights.size(); ++m) {
    weights[m] *= std::exp(options_.beta * change(former_loss[m], detail_.method_loss[m]));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double floor = options_.weight_floor;
  for (double& weight : weights) {
    weight = (1 - floor) * (weight / total) + floor / static_cast<double>(weights.size());
  }
}

void AdaSelection::update_reward(std::span<const double> loss) {
  detail_.reward.assign(loss.size(), 1);
  if (!options_.curriculum) return;
  double scale = 0;
  if (options_.curriculum_scale == CurriculumScale::mean) {
    scale = std::accumulate(loss.begin(), loss.end(), 0.0) / static_cast<double>(loss.size());
  } else {
    for (const double one : loss) scale += one * one;
  }
  if (scale <= 0) return;
  const double pace = std::pow(static_cast<double>(steps_), options_.curriculum_power);
  for (std::size_t i = 0; i < loss.size(); ++i) detail_.reward[i] = std::exp(-pace * loss[i] / scale);
}

void AdaSelection::update_score() {
  detail_.score.assign(detail_.reward.size(), 0);
  for (std::size_t m = 0; m < detail_.alpha.size(); ++m) {
    const double weight = detail_.weights[m];
    for (std::size_t i = 0; i < detail_.score.size(); ++i) detail_.score[i] += weight * detail_.alpha[m][i];
  }
  for (std::size_t i = 0; i < detail_.score.size(); ++i) detail_.score[i] *= detail_.reward[i];
}

void AdaSelection::accumulate() {
  selection_.due_after = 0;
  carry_ += detail_.k;
  if (carry_ < options_.batch) return;
  carry_ -= options_.batch;
  selection_.due_after = detail_.k - carry_;
}

void AdaSelection::save(StateWriter& state) const {
  state.open("adaselection 1");
  state.integer(options_.batch);
  state.integer(steps_);
  state.integer(carry_);
  state.column(std::span<const double>(detail_.weights));
  state.column(std::span<const double>(steps_ == 0 ? detail_.weights : detail_.method_loss));
  state.random(random_);
}

void AdaSelection::load(StateReader& state) {
  state.open("adaselection 1");
  options_.batch = state.integer();
  steps_ = state.integer();
  carry_ = state.integer();
  detail_.method_loss.resize(detail_.weights.size());
  state.column(std::span<double>(detail_.weights));
  state.column(std::span<double>(detail_.method_loss));
  random_ = state.random();
}

}  // namespace winnow
