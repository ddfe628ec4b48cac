#include "policy/cache_importance.h"

#include <algorithm>
#include <limits>

#include "policy/error.h"
#include "policy/rank_order.h"

namespace winnow {
namespace {

std::size_t at(Index sample) { return static_cast<std::size_t>(sample); }

void smallest_of_equals_first(std::vector<Index>& ranked, const SweepFacts& facts) {
  for (auto first = ranked.begin(); first != ranked.end();) {
    const double importance = facts.importance[at(*first)];
    const auto last = std::find_if(first, ranked.end(), [&](Index one) {
      const double other = facts.importance[at(one)];
      return other < importance || (importance != importance && other == other);  // NaN stands before all
    });
    std::stable_sort(first, last, [&](Index a, Index b) { return facts.bytes[at(a)] < facts.bytes[at(b)]; });
    first = last;
  }
}

}  // namespace

std::vector<double> cache_importance(std::span<const double> first_criterion, const Buckets& buckets) {
  require_length("scores", first_criterion.size(), at(buckets.samples()));
  std::vector<double> importance(first_criterion.size());
  std::vector<double> scores;
  for (Index i = 0; i < buckets.samples(); ++i) {
    const double score = first_criterion[at(i)];
    importance[at(i)] = buckets.waiting(i) ? 0 : 1;
    if (!buckets.waiting(i) && score == score) scores.push_back(score);
  }
  if (scores.size() < 2) return importance;
  std::sort(scores.begin(), scores.end());
  for (Index i = 0; i < buckets.samples(); ++i) {
    const double score = first_criterion[at(i)];
    if (buckets.waiting(i) || score != score) continue;
    const auto lower = std::lower_bound(scores.begin(), scores.end(), score) - scores.begin();
    importance[at(i)] = static_cast<double>(lower) / static_cast<double>(scores.size() - 1);
  }
  return importance;
}

std::vector<double> combined_importance(std::span<const JobImportance> jobs) {
  if (jobs.empty()) refuse("jobs", "at least one", "none");
  double largest = 0;
  for (const JobImportance& job : jobs) {
    require("stall", job.stall, kUnit);
    require_length("importance", job.importance.size(), jobs.front().importance.size());
    largest = std::max(largest, job.stall);
  }
  std::vector<double> combined(jobs.front().importance.size());
  for (const JobImportance& job : jobs) {
    const double weight = largest == 0 ? 1 : job.stall / largest;
    for (std::size_t i = 0; i < combined.size(); ++i)
      combined[i] = std::max(combined[i], weight * job.importance[i]);
  }
  return combined;
}

std::vector<Index> sweep_order(const SweepFacts& facts) {
  const std::size_t samples = facts.importance.size();
  require_length("read", facts.read.size(), samples);
  require_length("waiting", facts.waiting.size(), samples);
  std::vector<Index> order;
  if (!facts.declared.empty()) {
    for (const Index sample : facts.declared) {
      require_index("declared order", sample, static_cast<Index>(samples));
      if (!facts.read[at(sample)]) order.push_back(sample);
    }
    return order;
  }
  std::vector<Index> ranked = rank_descending(facts.importance);
  if (!facts.bytes.empty()) {
    require_length("bytes", facts.bytes.size(), samples);
    smallest_of_equals_first(ranked, facts);
  }
  for (const bool waiting : {false, true}) {
    for (const Index sample : ranked) {
      if (!facts.read[at(sample)] && facts.waiting[at(sample)] == waiting) order.push_back(sample);
    }
  }
  return order;
}

}  // namespace winnow
