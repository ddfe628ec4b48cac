#include "policy/access_trace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/buckets.h"
#include "policy/cache_importance.h"
#include "policy/error.h"
#include "policy/random.h"

namespace winnow {
namespace {

constexpr double kNearlyAll = 0.99;
constexpr Index kMostSamples = Index{1} << 32;

// Of Purpose::controls, so that sizes, scores and draws do not share their numbers.
enum class Draw : Index { sizes = 1, scores = 2, reads = 3 };

Random random_for(std::uint64_t seed, Draw draw) {
  return Random(sub_seed(seed, Purpose::controls, 0, static_cast<Index>(draw)));
}

void check(const GeneratedTrace& wanted) {
  require("files", static_cast<double>(wanted.samples),
          {.low = 1, .high = static_cast<double>(kMostSamples)});
  require("epochs", static_cast<double>(wanted.epochs), kAtLeastOne);
  require("classes", static_cast<double>(wanted.labels), kAtLeastOne);
  if (wanted.least_bytes == 0 || wanted.least_bytes > wanted.most_bytes)
    refuse("bytes", "a size of at least 1, or two with the lower one first",
           std::to_string(wanted.least_bytes) + " to " + std::to_string(wanted.most_bytes));
}

void draw_samples(AccessTrace& trace, const GeneratedTrace& wanted) {
  Random sizes = random_for(wanted.seed, Draw::sizes);
  Random scores = random_for(wanted.seed, Draw::scores);
  std::vector<double> drawn;
  for (Index i = 0; i < wanted.samples; ++i) {
    trace.samples.push_back(
        {.bytes = wanted.least_bytes + sizes.below(wanted.most_bytes - wanted.least_bytes + 1),
         .label = i % wanted.labels,
         .ends_itself = true});
    drawn.push_back(scores.unit());
  }
  apply_scores(trace, drawn, wanted.unimportant);
}

void draw_by_popularity(AccessTrace& trace, const GeneratedTrace& wanted) {
  std::vector<double> sums;
  double sum = 0;
  for (Index rank = 1; rank <= wanted.samples; ++rank) sums.push_back(sum += 1 / static_cast<double>(rank));
  Random random = random_for(wanted.seed, Draw::reads);
  for (Index i = 0; i < wanted.samples * wanted.epochs; ++i) {
    const auto at = std::upper_bound(sums.begin(), sums.end() - 1, random.unit() * sum);
    trace.reads.push_back(SampleId{static_cast<std::uint64_t>(at - sums.begin()) + 1});
  }
  trace.epoch_starts = recognised_epochs(trace.reads, trace.samples.size());
}

}  // namespace

std::uint64_t AccessTrace::total_bytes() const {
  return std::accumulate(samples.begin(), samples.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const TracedSample& one) { return sum + one.bytes; });
}

std::uint64_t AccessTrace::first_reads() const {
  std::vector<bool> seen(samples.size());
  for (const SampleId id : reads) seen[value(id) - 1] = true;
  return static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), true));
}

std::vector<std::uint64_t> recognised_epochs(std::span<const SampleId> reads, std::size_t samples) {
  const auto nearly_all =
      static_cast<std::uint64_t>(std::ceil(kNearlyAll * static_cast<double>(samples)));
  std::vector<std::uint64_t> starts;
  std::vector<std::uint64_t> read_in(samples);  // the epoch, from 1
  std::uint64_t epoch = 1;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    std::uint64_t& last = read_in[value(reads[i]) - 1];
    if (seen == samples || (last == epoch && seen >= nearly_all)) {
      starts.push_back(i);
      ++epoch;
      seen = 0;
    }
    if (last != epoch) ++seen;
    last = epoch;
  }
  return starts;
}

void apply_scores(AccessTrace& trace, std::span<const double> scores, double unimportant) {
  require_length("scores", scores.size(), trace.samples.size());
  require("unimportant", unimportant, kUnit);
  const auto importance = cache_importance(scores, Buckets(static_cast<Index>(scores.size())));
  std::vector<std::size_t> scored;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    TracedSample& sample = trace.samples[i];
    sample.scored = !std::isnan(scores[i]);
    sample.important = true;
    sample.importance = importance[i];
    if (sample.scored) scored.push_back(i);
  }
  const auto losers = static_cast<std::size_t>(unimportant * static_cast<double>(scored.size()));
  std::stable_sort(scored.begin(), scored.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  for (std::size_t i = 0; i < losers; ++i) trace.samples[scored[i]].important = false;
}

TraceKind parse_trace_kind(std::string_view name) {
  if (name == "shuffle") return TraceKind::shuffle;
  if (name == "in-order") return TraceKind::in_order;
  if (name == "zipf") return TraceKind::zipf;
  refuse("generate", "one of shuffle, in-order, zipf", '"' + std::string(name) + '"');
}

AccessTrace generate(const GeneratedTrace& wanted) {
  check(wanted);
  AccessTrace trace;
  draw_samples(trace, wanted);
  trace.reads.reserve(static_cast<std::size_t>(wanted.samples * wanted.epochs));
  if (wanted.kind == TraceKind::zipf) {
    draw_by_popularity(trace, wanted);
    return trace;
  }
  std::vector<Index> order(static_cast<std::size_t>(wanted.samples));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index epoch = 0; epoch < wanted.epochs; ++epoch) {
    if (epoch > 0) trace.epoch_starts.push_back(trace.reads.size());
    if (wanted.kind == TraceKind::shuffle)
      order = shuffled_indices(wanted.samples, sub_seed(wanted.seed, Purpose::epoch_shuffle, epoch));
    for (const Index i : order) trace.reads.push_back(SampleId{static_cast<std::uint64_t>(i) + 1});
  }
  return trace;
}

}  // namespace winnow
