#include <cmath>

#include "policy/c_boundary.h"
#include "policy/criteria.h"
#include "policy/draw_weights.h"
#include "policy/importance.h"
#include "policy/partition.h"
#include "policy/phash.h"
#include "policy/quantile.h"
#include "policy/random.h"
#include "policy/rank_order.h"
#include "policy/vote.h"
#include "policy/weighted_draw.h"
#include "policy/workload.h"

namespace winnow::c {
namespace {

thread_local std::string last_error;
thread_local Index last_error_sample = kNoSample;

template <typename T, typename Draw>
int drawn(uint64_t seed, int64_t count, T* out, Draw draw) {
  return guarded([&] {
    Random random(seed);
    for (T& one : array("out", out, count)) one = draw(random);
  });
}

// One score per sample from one checked fact.
template <typename Score>
int scored(const char* field, const double* facts, int64_t n, double* score, const Interval& range, Score of) {
  return guarded([&] {
    const std::span<const double> given = array(field, facts, n);
    for (std::size_t i = 0; i < given.size(); ++i)
      require_of_sample(static_cast<Index>(i), field, given[i], range);
    std::transform(given.begin(), given.end(), array("score", score, n).begin(), of);
  });
}

// A history per sample, from values and the offsets where each begins.
std::vector<RunningMean> histories(const char* field, const double* values, const int64_t* offsets, int64_t n,
                                   const Interval& range) {
  require("count", static_cast<double>(n), kNotNegative);
  const std::span<const int64_t> bounds = array("offsets", offsets, n + 1);
  std::vector<RunningMean> made(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < made.size(); ++i) {
    for (int64_t at = bounds[i]; at < bounds[i + 1]; ++at) {
      require_of_sample(static_cast<Index>(i), field, values[at], range);
      made[i].add(values[at]);
    }
  }
  return made;
}

template <typename Choice>
Choice chosen(const char* field, const char* name, const std::vector<std::string>& names) {
  return static_cast<Choice>(parse_choice(field, text(name), names));
}

}  // namespace

void remember_error(const char* sentence, Index sample) {
  last_error = sentence;
  last_error_sample = sample;
}

}  // namespace winnow::c

using namespace winnow;
using namespace winnow::c;

extern "C" {

int32_t winnow_policy_abi(void) { return WINNOW_POLICY_ABI; }
const char* winnow_last_error(void) { return last_error.c_str(); }
int64_t winnow_last_error_sample(void) { return last_error_sample; }

int winnow_random_u64(uint64_t seed, int64_t count, uint64_t* out) {
  return drawn(seed, count, out, [](Random& random) { return random.next(); });
}

int winnow_random_unit(uint64_t seed, int64_t count, double* out) {
  return drawn(seed, count, out, [](Random& random) { return random.unit(); });
}

int winnow_random_below(uint64_t seed, uint64_t bound, int64_t count, uint64_t* out) {
  if (bound == 0) return guarded([] { refuse("bound", "at least 1", "0"); });
  return drawn(seed, count, out, [=](Random& random) { return random.below(bound); });
}

int winnow_random_shuffle(uint64_t seed, int64_t n, int64_t* order) {
  return guarded([&] {
    array("order", order, n);
    copy_out<Index>(shuffled_indices(n, seed), order, nullptr);
  });
}

int winnow_random_pick(uint64_t seed, const int64_t* ids, int64_t n, int64_t count, int64_t* out) {
  return guarded([&] {
    const auto from = array("ids", ids, n);
    if (count < 0 || count > n) refuse("count", "in [0, " + std::to_string(n) + "]", std::to_string(count));
    copy_out<Index>(Random(seed).pick({from.begin(), from.end()}, static_cast<std::size_t>(count)), out,
                    nullptr);
  });
}

uint64_t winnow_sub_seed(uint64_t seed, const uint64_t* parts, int64_t count) {
  return sub_seed(seed, {parts, static_cast<std::size_t>(count)});
}

int winnow_entropy(const double* p_target, int64_t n, double* score) {
  return scored("p_target", p_target, n, score, kUnit, entropy_of_probability);
}

int winnow_entropy_from_loss(const double* loss, int64_t n, double* score) {
  return scored("loss", loss, n, score, kNotNegative, entropy_of_cross_entropy);
}

int winnow_margin(const double* p_target, const double* p_other, int64_t n, double* score) {
  return guarded([&] {
    const auto targets = array("p_target", p_target, n);
    const auto others = array("p_other", p_other, n);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      require_of_sample(static_cast<Index>(i), "p_target", targets[i], kUnit);
      require_of_sample(static_cast<Index>(i), "p_other", others[i], kUnit);
    }
    std::transform(targets.begin(), targets.end(), others.begin(), score, margin_of);
  });
}

int winnow_io(const double* load_time, const double* size, int64_t n, double alpha, double* score) {
  return guarded([&] {
    copy_out<double>(io_scores(array("load_time", load_time, n), array("size", size, n), alpha), score,
                     nullptr);
  });
}

int winnow_gradient_bound(const double* logits, int64_t n, int64_t classes, const int64_t* label,
                          double* score) {
  return guarded([&] {
    const auto all = array("logits", logits, n * classes);
    for (std::size_t i = 0; i < all.size(); ++i)
      require_of_sample(static_cast<Index>(i) / classes, "logits", all[i], kFinite);
    for (int64_t i = 0; i < n; ++i) {
      score[i] = gradient_bound(
          all.subspan(static_cast<std::size_t>(i * classes), static_cast<std::size_t>(classes)), label[i]);
    }
  });
}

int winnow_quantile(const double* values, int64_t n, double q, double* value) {
  return guarded([&] {
    const std::optional<double> found = quantile(array("values", values, n), q);
    if (!found) refuse("values", "at least 1 number", "none");
    *value = *found;
  });
}

int winnow_workload(const double* io_wait, const double* compute, int64_t epochs, double io_bound_at,
                    double* stall, const char** criteria) {
  return guarded([&] {
    const auto waits = array("io_wait", io_wait, epochs);
    const auto computes = array("compute", compute, epochs);
    require("io_bound_at", io_bound_at, kUnit);
    std::vector<EpochTimes> times;
    for (std::size_t i = 0; i < waits.size(); ++i) times.push_back({waits[i], computes[i]});
    *stall = stall_of(times);
    *criteria = *stall >= io_bound_at ? "entropy+margin+io" : "entropy";
  });
}

int winnow_threshold(const double* scores, int64_t n, double beta, double gamma, double equal_point,
                     double* threshold, double* par) {
  return guarded([&] {
    const auto former = std::isnan(*threshold) ? std::nullopt : std::optional(*threshold);
    Threshold current({beta, gamma, equal_point}, former);
    current.update(array("scores", scores, n));
    *threshold = current.value().value_or(NAN);
    *par = current.par().value_or(NAN);
  });
}

int winnow_vote(const double* const* scores, const double* thresholds, int64_t criteria, int64_t n,
                int lowest, uint8_t* votes, uint8_t* important) {
  return guarded([&] {
    const auto columns = array("scores", scores, criteria);
    std::vector<Ballot> ballots;
    for (std::size_t c = 0; c < columns.size(); ++c)
      ballots.push_back({array("scores", columns[c], n), thresholds[c]});
    const auto counted = count_votes(ballots, lowest ? Orientation::lowest : Orientation::highest);
    for (std::size_t i = 0; i < counted.size(); ++i) {
      votes[i] = counted[i];
      important[i] = wins(counted[i], static_cast<int>(criteria));
    }
  });
}

int winnow_phash(const uint8_t* luma, int64_t count, uint64_t* hash, uint8_t* flat) {
  return guarded([&] {
    const PerceptualHash made = perceptual_hash(array("luma", luma, count));
    *hash = made.bits;
    *flat = made.flat;
  });
}

int winnow_importance(const double* losses, const int64_t* offsets, int64_t n, const char* measure,
                      double* importance) {
  return guarded([&] {
    const auto made = histories("loss", losses, offsets, n, kFinite);
    const auto out = array("importance", importance, n);
    std::fill(out.begin(), out.end(), NAN);
    renew_importance(out, chosen<Measure>("measure", measure, {"average", "variance"}),
                     [&](Index i) { return made[static_cast<std::size_t>(i)]; });
  });
}

int winnow_rank(const double* values, int64_t n, int64_t* order) {
  return guarded([&] { copy_out<Index>(rank_descending(array("values", values, n)), order, nullptr); });
}

int winnow_partition(const int64_t* order, int64_t n, const char* layout, int64_t worker, int64_t workers,
                     const char* equalise, int64_t* part, int64_t* count) {
  return guarded([&] {
    copy_out<Index>(part_of(array("order", order, n), chosen<Layout>("layout", layout, layout_names()),
                            {worker, workers}, chosen<Equalise>("equalise", equalise, equalise_names())),
                    part, count);
  });
}

int winnow_interval_starts(int64_t epochs, int64_t warmup_epochs, int64_t interval_epochs, int64_t* starts,
                           int64_t* count) {
  return guarded(
      [&] { copy_out<Index>(interval_starts(epochs, warmup_epochs, interval_epochs), starts, count); });
}

int winnow_online(const double* loss, int64_t n, int64_t epoch, int64_t epochs, double pressure_start,
                  double pressure_end, double* pressure, double* probability) {
  return guarded([&] {
    *pressure = online_pressure({epoch, epochs, pressure_start, pressure_end});
    copy_out<double>(online_probabilities(array("loss", loss, n), *pressure), probability, nullptr);
  });
}

int winnow_active_bias(const double* history, const int64_t* offsets, int64_t n, double epsilon,
                       double* weight) {
  return guarded([&] {
    const auto smoothing = std::isnan(epsilon) ? std::nullopt : std::optional(epsilon);
    copy_out<double>(active_bias_weights(histories("p_target", history, offsets, n, kUnit), smoothing),
                     weight, nullptr);
  });
}

int winnow_coreset(const double* probability, int64_t n, int64_t classes, const char* parameters,
                   double* uncertainty, int64_t* chosen_ids, int64_t* count) {
  return guarded([&] {
    const CoresetOptions options = coreset_parameters().parse(text(parameters));
    const auto all = array("probability", probability, n * classes);
    const auto ranks = array("uncertainty", uncertainty, n);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ranks[i] = uncertainty_of(
          all.subspan(i * static_cast<std::size_t>(classes), static_cast<std::size_t>(classes)),
          options.uncertainty);
    }
    copy_out<Index>(coreset(ranks, options.fraction), chosen_ids, count);
  });
}

int winnow_draw(const double* weight, int64_t n, const double* draws, int64_t count, int64_t* index) {
  return guarded([&] {
    const WeightedDraw weighted(array("weight", weight, n));
    const auto units = array("draws", draws, count);
    for (std::size_t i = 0; i < units.size(); ++i) {
      require("draws", units[i], {.low = 0, .high = 1, .high_open = true});
      index[i] = weighted.draw(units[i]);
    }
  });
}

}  // extern "C"
