// What is known of every sample: the last facts reported of it, the history policies need, its bucket and its
// importance to DPT. Columns of 63 bytes a sample in all; facts are float32, rounded once. Scores are
// historical: a sample keeps its last value until it is reported again. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/buckets.h"
#include "policy/criteria.h"
#include "policy/running_mean.h"
#include "policy/state.h"
#include "policy/values.h"

namespace winnow {

// A batch of facts, one value per reported sample in every column that is given.
struct FactColumns {
  Values p_target;
  Values p_other;
  Values loss;
  Values grad;
  Values load_time;
  Values size;
  std::span<const std::uint8_t> correct = {};  // 0 or 1, judged when the sample was trained
  bool trained = true;                         // false: scored only, no training event
};

struct ScoreSettings {
  bool cross_entropy = false;  // the loss is cross entropy in nats, without label smoothing
  double alpha = 0.5;          // share of the load time in the io criterion
};

class Scores {
 public:
  static constexpr std::size_t kBytesPerSample = 63;

  explicit Scores(Index samples, const ScoreSettings& settings = {});

  Index samples() const { return buckets_.samples(); }
  const ScoreSettings& settings() const { return settings_; }

  // Takes in facts of `ids`, or none of them: what is refused names the sample and the field.
  void report(std::span<const Index> ids, const FactColumns& facts);
  void check(std::span<const Index> ids, const FactColumns& facts) const;  // refuses what report() would

  // A criterion's score of every in-process sample; NaN: none, or waiting. io is relative to today's means.
  void criterion(Criterion criterion, std::vector<double>& scores) const;

  double loss(Index sample) const { return loss_[at(sample)]; }  // NaN: never reported
  const std::vector<float>& p_target() const { return p_target_; }
  const std::vector<float>& grad() const { return grad_; }
  RunningMean p_target_history(Index sample) const;
  RunningMean loss_history(Index sample) const;  // since it was last forgotten
  void forget_losses();

  std::span<double> importance() { return importance_; }  // DPT's; NaN: none
  std::span<const double> importance() const { return importance_; }

  Buckets& buckets() { return buckets_; }
  const Buckets& buckets() const { return buckets_; }

  // Accuracy over the training events since the last call; nullopt if there was none that was judged.
  std::optional<double> take_accuracy();

  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  static std::size_t at(Index sample) { return static_cast<std::size_t>(sample); }
  void remember(Index sample, const FactColumns& facts, std::size_t row);
  double entropy(std::size_t sample) const;
  IoCost io_cost() const;

  ScoreSettings settings_;
  std::vector<float> p_target_, p_other_, loss_, grad_, load_time_, size_;
  std::vector<double> importance_;
  std::vector<double> loss_mean_, loss_squares_;
  std::vector<float> p_mean_, p_squares_;
  std::vector<std::uint16_t> loss_count_, p_count_;
  Buckets buckets_;
  std::uint64_t trained_ = 0;
  std::uint64_t correct_ = 0;
};

}  // namespace winnow
