#include "policy/scores.h"

#include <cmath>
#include <limits>

#include "policy/error.h"

namespace winnow {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint16_t kMostCounted = std::numeric_limits<std::uint16_t>::max();

void check_column(std::span<const Index> ids, std::string_view field, const Values& values,
                  const Interval& range) {
  if (!values.given()) return;
  require_length(field, values.size(), ids.size());
  for (std::size_t row = 0; row < ids.size(); ++row) require_of_sample(ids[row], field, values[row], range);
}

void set(std::vector<float>& column, std::size_t sample, const Values& values, std::size_t row) {
  if (values.given()) column[sample] = static_cast<float>(values[row]);
}

// Adds to a history kept in narrow columns; past 65,535 values the oldest simply weigh a little more.
template <typename Number>
void extend(Number& mean, Number& squares, std::uint16_t& count, double value) {
  RunningMean history{count, mean, squares};
  history.add(value);
  mean = static_cast<Number>(history.mean);
  squares = static_cast<Number>(history.squares);
  if (count < kMostCounted) ++count;
}

}  // namespace

Scores::Scores(Index samples, const ScoreSettings& settings) : settings_(settings) {
  require("samples", static_cast<double>(samples), kAtLeastOne);
  require("alpha", settings.alpha, kUnit);
  const std::size_t n = at(samples);
  for (auto* column : {&p_target_, &p_other_, &loss_, &grad_, &load_time_, &size_}) column->assign(n, kUnknown);
  importance_.assign(n, std::numeric_limits<double>::quiet_NaN());
  for (auto* column : {&loss_mean_, &loss_squares_}) column->assign(n, 0);
  for (auto* column : {&p_mean_, &p_squares_}) column->assign(n, 0);
  for (auto* column : {&loss_count_, &p_count_}) column->assign(n, 0);
  buckets_ = Buckets(samples);
}

void Scores::report(std::span<const Index> ids, const FactColumns& facts) {
  check(ids, facts);
  for (std::size_t row = 0; row < ids.size(); ++row) remember(ids[row], facts, row);
  if (!facts.trained) return;
  for (const Index sample : ids) buckets_.mark_trained(sample);
  if (facts.correct.empty()) return;
  trained_ += ids.size();
  for (const std::uint8_t one : facts.correct) correct_ += one;
}

void Scores::check(std::span<const Index> ids, const FactColumns& facts) const {
  for (const Index id : ids) require_index("id", id, samples());
  check_column(ids, "p_target", facts.p_target, kUnit);
  check_column(ids, "p_other", facts.p_other, kUnit);
  check_column(ids, "loss", facts.loss, settings_.cross_entropy ? kNotNegative : kFinite);
  check_column(ids, "grad", facts.grad, kNotNegative);
  check_column(ids, "load_time", facts.load_time, kNotNegative);
  check_column(ids, "size", facts.size, kNotNegative);
  if (facts.p_other.given()) {
    if (!facts.p_target.given()) refuse("p_other", "given together with p_target", "p_other alone");
    for (std::size_t row = 0; row < ids.size(); ++row) {
      const double both = facts.p_target[row] + facts.p_other[row];
      if (both > 1 + 1e-6) refuse_sample(ids[row], "p_target + p_other", "at most 1", both);
    }
  }
  if (facts.correct.empty()) return;
  require_length("correct", facts.correct.size(), ids.size());
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (facts.correct[row] > 1) refuse_sample(ids[row], "correct", "0 or 1", facts.correct[row]);
  }
}

void Scores::remember(Index sample, const FactColumns& facts, std::size_t row) {
  const std::size_t i = at(sample);
  set(p_target_, i, facts.p_target, row);
  set(p_other_, i, facts.p_other, row);
  set(loss_, i, facts.loss, row);
  set(grad_, i, facts.grad, row);
  set(load_time_, i, facts.load_time, row);
  set(size_, i, facts.size, row);
  if (facts.loss.given()) extend(loss_mean_[i], loss_squares_[i], loss_count_[i], loss_[i]);
  if (facts.p_target.given()) extend(p_mean_[i], p_squares_[i], p_count_[i], p_target_[i]);
}

double Scores::entropy(std::size_t sample) const {
  return settings_.cross_entropy ? entropy_of_cross_entropy(loss_[sample])
                                 : entropy_of_probability(p_target_[sample]);
}

IoCost Scores::io_cost() const {
  double time = 0;
  double bytes = 0;
  std::size_t fetched = 0;
  for (std::size_t i = 0; i < size_.size(); ++i) {
    if (!(load_time_[i] >= 0 && size_[i] >= 0)) continue;
    time += load_time_[i];
    bytes += size_[i];
    ++fetched;
  }
  const auto count = static_cast<double>(fetched == 0 ? 1 : fetched);
  return {settings_.alpha, time / count, bytes / count};
}

// Arithmetic on NaN gives NaN, so a missing fact makes a missing score by itself.
void Scores::criterion(Criterion criterion, std::vector<double>& scores) const {
  scores.resize(at(samples()));
  const auto fill = [&](auto score) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      scores[i] = buckets_.waiting(static_cast<Index>(i)) ? kUnknown : score(i);
    }
  };
  switch (criterion) {
    case Criterion::entropy:
      return fill([&](std::size_t i) { return entropy(i); });
    case Criterion::margin:
      return fill([&](std::size_t i) { return margin_of(p_target_[i], p_other_[i]); });
    case Criterion::loss:
      return fill([&](std::size_t i) { return static_cast<double>(loss_[i]); });
    case Criterion::io:
      return fill([&, cost = io_cost()](std::size_t i) {
        const bool fetched = load_time_[i] >= 0 && size_[i] >= 0;
        return fetched ? cost.score(load_time_[i], size_[i]) : static_cast<double>(kUnknown);
      });
  }
}

RunningMean Scores::p_target_history(Index sample) const {
  return {p_count_[at(sample)], p_mean_[at(sample)], p_squares_[at(sample)]};
}

RunningMean Scores::loss_history(Index sample) const {
  return {loss_count_[at(sample)], loss_mean_[at(sample)], loss_squares_[at(sample)]};
}

void Scores::forget_losses() {
  std::fill(loss_count_.begin(), loss_count_.end(), std::uint16_t{0});
  std::fill(loss_mean_.begin(), loss_mean_.end(), 0.0);
  std::fill(loss_squares_.begin(), loss_squares_.end(), 0.0);
}

std::optional<double> Scores::take_accuracy() {
  const std::uint64_t trained = std::exchange(trained_, 0);
  const std::uint64_t correct = std::exchange(correct_, 0);
  if (trained == 0) return std::nullopt;
  return static_cast<double>(correct) / static_cast<double>(trained);
}

void Scores::save(StateWriter& state) const {
  state.open("scores 1");
  state.word(static_cast<std::uint64_t>(samples()));
  for (const auto* column :
       {&p_target_, &p_other_, &loss_, &grad_, &load_time_, &size_, &p_mean_, &p_squares_}) {
    state.column(std::span<const float>(*column));
  }
  for (const auto* column : {&importance_, &loss_mean_, &loss_squares_})
    state.column(std::span<const double>(*column));
  for (const auto* column : {&loss_count_, &p_count_, &buckets_.missed()}) {
    state.column(std::span<const std::uint16_t>(*column));
  }
  state.column(std::span<const std::uint8_t>(buckets_.flags()));
  state.word(trained_);
  state.word(correct_);
}

void Scores::load(StateReader& state) {
  state.open("scores 1");
  Scores read(samples(), settings_);
  const std::uint64_t saved = state.word();
  if (saved != static_cast<std::uint64_t>(samples())) {
    refuse("state", "of " + std::to_string(samples()) + " samples", std::to_string(saved));
  }
  for (auto* column : {&read.p_target_, &read.p_other_, &read.loss_, &read.grad_, &read.load_time_,
                       &read.size_, &read.p_mean_, &read.p_squares_}) {
    state.column(std::span<float>(*column));
  }
  for (auto* column : {&read.importance_, &read.loss_mean_, &read.loss_squares_})
    state.column(std::span<double>(*column));
  std::vector<std::uint16_t> missed(at(samples()));
  for (auto* column : {&read.loss_count_, &read.p_count_, &missed})
    state.column(std::span<std::uint16_t>(*column));
  std::vector<std::uint8_t> flags(at(samples()));
  state.column(std::span<std::uint8_t>(flags));
  read.buckets_.restore(std::move(flags), std::move(missed));
  read.trained_ = state.word();
  read.correct_ = state.word();
  *this = std::move(read);
}

}  // namespace winnow
