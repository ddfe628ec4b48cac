#include "policy/bucket_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/quantile.h"
#include "policy/random.h"

namespace winnow {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::span<const double> scores_of(std::span<const CriterionScores> criteria, Criterion wanted) {
  for (const CriterionScores& one : criteria) {
    if (one.criterion == wanted) return one.scores;
  }
  return {};
}

// Expensive samples must be more important to stay: the factor on their thresholds.
double cost_factor(std::span<const double> io, std::size_t sample, double weight) {
  if (io.empty() || io[sample] != io[sample]) return 1;
  return std::pow(std::clamp(1 / io[sample], 0.25, 4.0), weight);
}

void check_columns(const Buckets& buckets, std::span<const CriterionScores> criteria) {
  if (criteria.empty()) refuse("criteria", "at least one", "none");
  for (const CriterionScores& one : criteria) {
    require_length(name_of(one.criterion), one.scores.size(), static_cast<std::size_t>(buckets.samples()));
  }
}

}  // namespace

const ParameterTable<BucketOptions>& bucket_parameters() {
  using O = BucketOptions;
  static const auto table =
      ParameterTable<O>("buckets")
          .integer("profile_epochs", &O::profile_epochs, kAtLeastOne, "uniform epochs before samples leave")
          .number("beta", &O::beta, kUnit, "how much of the former threshold stays")
          .number("gamma", &O::gamma, kNotNegative, "threshold as a factor on the equal point of the scores")
          .number("gamma_io", &O::gamma_io, kNotNegative, "the same for the io criterion")
          .number("equal_point", &O::equal_point, kUnit, "which quantile of the scores the equal point is")
          .number("io_weight", &O::io_weight, kNotNegative,
                  "power of a sample's cost on its thresholds; 0 = the paper's vote")
          .number("min_in_process", &O::min_in_process, kUnit, "share of the data set that always stays")
          .integer("k", &O::k, kAtLeastOne, "epochs without a rise of accuracy that make a plateau")
          .number("plateau_epsilon", &O::plateau_epsilon, kNotNegative, "what counts as a rise")
          .flag("recall", &O::recall, "whether waiting samples return on a plateau")
          .number("recall_fraction", &O::recall_fraction, kFraction,
                  "share of the waiting bucket that returns")
          .integer("max_missed", &O::max_missed, {.low = 1, .high = 65535},
                   "missed recalls after which a sample is drawn first")
          .seed(&O::seed);
  return table;
}

BucketSampler::BucketSampler(const BucketOptions& options)
    : options_(options), plateau_(options.k, options.plateau_epsilon) {
  bucket_parameters().check(options);
  for (const Criterion criterion : {Criterion::entropy, Criterion::margin, Criterion::io, Criterion::loss}) {
    thresholds_.emplace_back(threshold_options(criterion));
  }
}

ThresholdOptions BucketSampler::threshold_options(Criterion criterion) const {
  return {.beta = options_.beta,
          .gamma = criterion == Criterion::io ? options_.gamma_io : options_.gamma,
          .equal_point = options_.equal_point};
}

void BucketSampler::restore(Index epochs_ended, std::span<const std::optional<double>> thresholds,
                            std::optional<double> best, std::int64_t flat_epochs) {
  require_length("thresholds", thresholds.size(), thresholds_.size());
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    thresholds_[i] = Threshold(threshold_options(static_cast<Criterion>(i)), thresholds[i]);
  }
  epochs_ended_ = epochs_ended;
  plateau_.restore(best, flat_epochs);
}

EpochEnd BucketSampler::end_epoch(Buckets& buckets, std::span<const CriterionScores> criteria,
                                  std::optional<double> accuracy, OutOrder order) {
  check_columns(buckets, criteria);
  if (accuracy) require("accuracy", *accuracy, kUnit);
  EpochEnd end;
  if (epochs_ended_ + 1 >= options_.profile_epochs) {
    update_thresholds(buckets, criteria);
    end.out = sample_out(buckets, criteria, order);
  }
  for (const CriterionScores& one : criteria) end.thresholds.push_back(threshold(one.criterion));
  end.plateau = accuracy && plateau_.update(*accuracy);
  if (end.plateau && options_.recall) end.recalled = recall(buckets);
  ++epochs_ended_;
  return end;
}

void BucketSampler::update_thresholds(const Buckets& buckets, std::span<const CriterionScores> criteria) {
  for (const CriterionScores& one : criteria) {
    Threshold& threshold = thresholds_[static_cast<std::size_t>(one.criterion)];
    if (buckets.waiting_count() == 0) {
      threshold.update(one.scores);
      continue;
    }
    scratch_.clear();
    for (Index i = 0; i < buckets.samples(); ++i) {
      if (!buckets.waiting(i)) scratch_.push_back(one.scores[static_cast<std::size_t>(i)]);
    }
    threshold.update(scratch_);
  }
}

std::vector<BucketSampler::Loser> BucketSampler::losers(const Buckets& buckets,
                                                        std::span<const CriterionScores> criteria) const {
  const auto voters = static_cast<int>(criteria.size());
  const std::span<const double> io = scores_of(criteria, Criterion::io);
  std::vector<double> limits;
  for (const CriterionScores& one : criteria) limits.push_back(threshold(one.criterion).value_or(kNone));
  std::vector<Loser> found;
  for (Index i = 0; i < buckets.samples(); ++i) {
    if (!buckets.may_leave(i)) continue;
    const auto at = static_cast<std::size_t>(i);
    const double factor = options_.io_weight == 0 ? 1 : cost_factor(io, at, options_.io_weight);
    int votes = 0;
    for (std::size_t c = 0; c < criteria.size(); ++c) {
      const bool weighed =
          criteria[c].criterion == Criterion::entropy || criteria[c].criterion == Criterion::margin;
      votes +=
          votes_for(criteria[c].scores[at], weighed ? limits[c] * factor : limits[c], Orientation::highest);
    }
    if (wins(votes, voters)) continue;
    const double score = criteria.front().scores[at];
    const double rank = score == score ? score : -std::numeric_limits<double>::infinity();
    found.push_back({i, static_cast<std::uint8_t>(votes), rank});
  }
  return found;
}

std::vector<Index> BucketSampler::sample_out(Buckets& buckets, std::span<const CriterionScores> criteria,
                                             OutOrder order) const {
  const auto worse = [](const Loser& a, const Loser& b) {
    if (a.votes != b.votes) return a.votes < b.votes;
    if (a.score != b.score) return a.score < b.score;
    return a.sample < b.sample;
  };
  std::vector<Loser> leaving = losers(buckets, criteria);
  const Index floor = ceil_of(options_.min_in_process, buckets.samples());
  const auto room = static_cast<std::size_t>(std::max<Index>(0, buckets.in_process_count() - floor));
  const bool cut = leaving.size() > room;
  if (cut) {
    const auto end = leaving.begin() + static_cast<std::ptrdiff_t>(room);
    std::nth_element(leaving.begin(), end, leaving.end(), worse);
    leaving.erase(end, leaving.end());
  }
  if (order == OutOrder::worst_first) std::sort(leaving.begin(), leaving.end(), worse);
  std::vector<Index> out;
  out.reserve(leaving.size());
  for (const Loser& loser : leaving) {
    buckets.move_out(loser.sample);
    out.push_back(loser.sample);
  }
  if (cut && order == OutOrder::any) std::sort(out.begin(), out.end());
  return out;
}

std::vector<Index> BucketSampler::recall(Buckets& buckets) const {
  std::vector<Index> overdue;
  std::vector<Index> rest;
  for (const Index sample : buckets.waiting()) {
    (buckets.missed(sample) >= options_.max_missed ? overdue : rest).push_back(sample);
  }
  const auto count = static_cast<std::size_t>(ceil_of(options_.recall_fraction, buckets.waiting_count()));
  std::stable_sort(overdue.begin(), overdue.end(),
                   [&](Index a, Index b) { return buckets.missed(a) > buckets.missed(b); });
  const std::size_t first = std::min(count, overdue.size());
  std::vector<Index> drawn(overdue.begin(), overdue.begin() + static_cast<std::ptrdiff_t>(first));
  Random random(sub_seed(options_.seed, Purpose::recall, epochs_ended_));
  for (const Index sample : random.pick(std::move(rest), count - first)) drawn.push_back(sample);
  for (const Index sample : drawn) buckets.recall(sample);
  for (const Index sample : buckets.waiting()) buckets.miss(sample);
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

}  // namespace winnow
