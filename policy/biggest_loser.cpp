#include "policy/biggest_loser.h"

#include <algorithm>
#include <cmath>

namespace winnow {

const ParameterTable<BiggestLoserOptions>& biggest_loser_parameters() {
  using O = BiggestLoserOptions;
  static const auto table =
      ParameterTable<O>("biggest_loser")
          .integer("window", &O::window, kAtLeastOne, "how many of the last losses a loss is compared with")
          .number("beta", &O::beta, kNotNegative, "power on the share of losses that are not higher")
          .integer("worker", &O::worker, kNotNegative, "number of the worker, so that its draws are its own")
          .seed(&O::seed);
  return table;
}

BiggestLoser::BiggestLoser(const BiggestLoserOptions& options) : options_(options), random_(0) {
  biggest_loser_parameters().check(options);
  set_epoch(0);
}

void BiggestLoser::set_epoch(Index epoch) {
  require("epoch", static_cast<double>(epoch), kNotNegative);
  random_ = Random(sub_seed(options_.seed, Purpose::biggest_loser, epoch, options_.worker));
}

const Selection& BiggestLoser::select(const Batch& batch) {
  if (batch.loss.empty()) refuse("loss", "at least 1 value", "an empty batch");
  if (!batch.draws.empty()) require_length("draws", batch.draws.size(), batch.loss.size());
  for (std::size_t i = 0; i < batch.loss.size(); ++i) {
    require_of_sample(static_cast<Index>(i), "loss", batch.loss[i], kFinite);
  }
  window_.insert(window_.end(), batch.loss.begin(), batch.loss.end());
  const auto limit = static_cast<std::size_t>(options_.window);
  if (window_.size() > limit)
    window_.erase(window_.begin(), window_.end() - static_cast<std::ptrdiff_t>(limit));
  std::vector<double> sorted(window_.begin(), window_.end());
  std::sort(sorted.begin(), sorted.end());
  selection_.kept.clear();
  probability_.clear();
  for (std::size_t i = 0; i < batch.loss.size(); ++i) {
    const auto below = std::upper_bound(sorted.begin(), sorted.end(), batch.loss[i]) - sorted.begin();
    const double share = static_cast<double>(below) / static_cast<double>(sorted.size());
    probability_.push_back(std::pow(share, options_.beta));
    const double draw = batch.draws.empty() ? random_.unit() : batch.draws[i];
    if (draw < probability_.back()) selection_.kept.push_back(static_cast<Index>(i));
  }
  selection_.due_after = static_cast<Index>(selection_.kept.size());
  return selection_;
}

void BiggestLoser::save(StateWriter& state) const {
  state.open("biggest_loser 1");
  const std::vector<double> window(window_.begin(), window_.end());
  state.word(window.size());
  state.column(std::span<const double>(window));
  state.random(random_);
}

void BiggestLoser::load(StateReader& state) {
  state.open("biggest_loser 1");
  const std::uint64_t size = state.word();
  if (size > static_cast<std::uint64_t>(options_.window))
    refuse("state", "of a window not longer than this", std::to_string(size));
  std::vector<double> window(size);
  state.column(std::span<double>(window));
  window_.assign(window.begin(), window.end());
  random_ = state.random();
}

}  // namespace winnow
