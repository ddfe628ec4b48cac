#include "policy/bucket_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/quantile.h"
#include "policy/random.h"

namespace winnow {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Loser {
  Index sample;
  std::uint8_t votes;
  double score;
};

bool worse(const Loser& a, const Loser& b) {
  if (a.votes != b.votes) return a.votes < b.votes;
  if (a.score != b.score) return a.score < b.score;
  return a.sample < b.sample;
}

std::span<const double> checked(const Buckets& buckets, Criterion criterion, std::span<const double> scores) {
  require_length(name_of(criterion), scores.size(), static_cast<std::size_t>(buckets.samples()));
  return scores;
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

EpochEnd BucketSampler::end_epoch(Buckets& buckets, std::span<const Criterion> criteria,
                                  const ScoreSource& scores_of, std::optional<double> accuracy,
                                  OutOrder order) {
  if (criteria.empty()) refuse("criteria", "at least one", "none");
  if (accuracy) require("accuracy", *accuracy, kUnit);
  EpochEnd end;
  if (epochs_ended_ + 1 >= options_.profile_epochs) end.out = sample_out(buckets, criteria, scores_of, order);
  for (const Criterion criterion : criteria) end.thresholds.push_back(threshold(criterion));
  end.plateau = accuracy && plateau_.update(*accuracy);
  if (end.plateau && options_.recall) end.recalled = recall(buckets);
  ++epochs_ended_;
  return end;
}

bool BucketSampler::weighs_cost(Criterion criterion) const {
  return options_.io_weight != 0 && (criterion == Criterion::entropy || criterion == Criterion::margin);
}

// Expensive samples must be more important to stay: the factor on their thresholds.
std::vector<double> BucketSampler::cost_factors(std::span<const Criterion> criteria,
                                                const ScoreSource& scores_of) const {
  const bool io_votes = std::find(criteria.begin(), criteria.end(), Criterion::io) != criteria.end();
  if (options_.io_weight == 0 || !io_votes) return {};
  const std::span<const double> io = scores_of(Criterion::io);
  std::vector<double> factors(io.begin(), io.end());
  for (double& one : factors) {
    one = one != one ? 1 : std::pow(std::clamp(1 / one, 0.25, 4.0), options_.io_weight);
  }
  return factors;
}

void BucketSampler::count_votes(Criterion criterion, std::span<const double> scores,
                                std::span<const double> factors) {
  Threshold& threshold = thresholds_[static_cast<std::size_t>(criterion)];
  threshold.update(scores);
  const double limit = threshold.value().value_or(kNone);
  if (factors.empty() || !weighs_cost(criterion)) {
    for (std::size_t i = 0; i < scores.size(); ++i)
      votes_[i] += votes_for(scores[i], limit, Orientation::highest);
    return;
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    votes_[i] += votes_for(scores[i], limit * factors[i], Orientation::highest);
  }
}

std::vector<Index> BucketSampler::sample_out(Buckets& buckets, std::span<const Criterion> criteria,
                                             const ScoreSource& scores_of, OutOrder order) {
  const std::vector<double> factors = cost_factors(criteria, scores_of);
  votes_.assign(static_cast<std::size_t>(buckets.samples()), 0);
  std::span<const double> scores;
  // The first criterion comes last, because its scores then rank those who lose.
  for (std::size_t c = criteria.size(); c-- > 0;) {
    scores = checked(buckets, criteria[c], scores_of(criteria[c]));
    count_votes(criteria[c], scores, factors);
  }
  const Index floor = ceil_of(options_.min_in_process, buckets.samples());
  const auto room = static_cast<std::size_t>(std::max<Index>(0, buckets.in_process_count() - floor));
  std::vector<Index> out = losers(buckets, static_cast<int>(criteria.size()));
  if (out.size() > room || order == OutOrder::worst_first) out = worst(out, scores, room, order);
  for (const Index sample : out) buckets.move_out(sample);
  return out;
}

std::vector<Index> BucketSampler::losers(const Buckets& buckets, int voters) const {
  // Written and then kept or not: who loses is as good as random, so a branch would be guessed wrong too
  // often.
  constexpr std::size_t kBlock = 4096;
  std::vector<Index> found;
  for (std::size_t begin = 0; begin < votes_.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, votes_.size());
    std::size_t count = found.size();
    found.resize(count + end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      found[count] = static_cast<Index>(i);
      count += !wins(votes_[i], voters) && buckets.may_leave(static_cast<Index>(i));
    }
    found.resize(count);
  }
  return found;
}

// The `room` worst of the losers, in the order asked for.
std::vector<Index> BucketSampler::worst(std::span<const Index> losers, std::span<const double> scores,
                                        std::size_t room, OutOrder order) const {
  std::vector<Loser> ranked;
  ranked.reserve(losers.size());
  for (const Index sample : losers) {
    const auto i = static_cast<std::size_t>(sample);
    const bool scored = scores[i] == scores[i];
    ranked.push_back({sample, votes_[i], scored ? scores[i] : -std::numeric_limits<double>::infinity()});
  }
  room = std::min(room, ranked.size());
  const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(room);
  if (room < ranked.size()) std::nth_element(ranked.begin(), end, ranked.end(), worse);
  if (order == OutOrder::worst_first) std::sort(ranked.begin(), end, worse);
  std::vector<Index> out;
  for (auto loser = ranked.begin(); loser != end; ++loser) out.push_back(loser->sample);
  if (order == OutOrder::any) std::sort(out.begin(), out.end());
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
