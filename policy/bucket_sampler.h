// IOWA's bucket sampling: at the end of an epoch, which in-process samples move to the waiting bucket and
// which waiting ones return. The buckets are the caller's; this class holds the thresholds and the plateau.
// Works on scores of whatever criteria the caller names. Linear in the number of samples.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "policy/buckets.h"
#include "policy/criteria.h"
#include "policy/parameters.h"
#include "policy/plateau.h"
#include "policy/vote.h"

namespace winnow {

struct BucketOptions {
  std::int64_t profile_epochs = 2;
  double beta = 0.5;
  double gamma = 0.1;
  double gamma_io = 1;
  double equal_point = 0.5;
  double io_weight = 0;
  double min_in_process = 0.3;
  std::int64_t k = 3;
  double plateau_epsilon = 1e-4;
  bool recall = true;
  double recall_fraction = 0.5;
  std::int64_t max_missed = 8;
  std::uint64_t seed = 0;
};

const ParameterTable<BucketOptions>& bucket_parameters();

// Gives the scores of all samples in a criterion: one per sample, NaN for "no score" and for waiting ones.
// What it returns holds until it is asked again, so one buffer serves all criteria.
using ScoreSource = std::function<std::span<const double>(Criterion)>;

struct EpochEnd {
  std::vector<std::optional<double>> thresholds;  // per criterion, as listed
  std::vector<Index> out;                         // worst first if asked for, else ascending
  bool plateau = false;
  std::vector<Index> recalled;  // ascending
};

enum class OutOrder { any, worst_first };

class BucketSampler {
 public:
  explicit BucketSampler(const BucketOptions& options);

  // Ends the epoch: thresholds, sampling out, plateau test, recall. `accuracy` is that of the epoch's
  // training events; nullopt if it trained nothing. The first criterion listed ranks those who lose alike.
  EpochEnd end_epoch(Buckets& buckets, std::span<const Criterion> criteria, const ScoreSource& scores_of,
                     std::optional<double> accuracy, OutOrder order = OutOrder::any);

  Index epochs_ended() const { return epochs_ended_; }
  std::optional<double> threshold(Criterion criterion) const { return slot(criterion).value(); }
  const Plateau& plateau() const { return plateau_; }
  void restore(Index epochs_ended, std::span<const std::optional<double>> thresholds,
               std::optional<double> best,
               std::int64_t flat_epochs);  // thresholds in the order of the enumerators

 private:
  const Threshold& slot(Criterion criterion) const {
    return thresholds_[static_cast<std::size_t>(criterion)];
  }
  ThresholdOptions threshold_options(Criterion criterion) const;
  bool weighs_cost(Criterion criterion) const;
  std::vector<Index> sample_out(Buckets& buckets, std::span<const Criterion> criteria,
                                const ScoreSource& scores_of, OutOrder order);
  std::vector<double> cost_factors(std::span<const Criterion> criteria, const ScoreSource& scores_of) const;
  void count_votes(Criterion criterion, std::span<const double> scores, std::span<const double> factors);
  std::vector<Index> losers(const Buckets& buckets, int voters) const;
  std::vector<Index> worst(std::span<const Index> losers, std::span<const double> scores, std::size_t room,
                           OutOrder order) const;
  std::vector<Index> recall(Buckets& buckets) const;

  BucketOptions options_;
  std::vector<Threshold> thresholds_;
  Plateau plateau_;
  Index epochs_ended_ = 0;
  std::vector<std::uint8_t> votes_;
};

}  // namespace winnow
