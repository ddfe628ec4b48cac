// How much a sample matters to the cache, and in which order a sweep fetches what an epoch has not read yet.
#pragma once

#include <span>
#include <vector>

#include "policy/buckets.h"

namespace winnow {

// For one job: the share of scored in-process samples with a lower score (1 if there is only one); 0 for
// waiting samples, 1 for those never scored (NaN).
std::vector<double> cache_importance(std::span<const double> first_criterion, const Buckets& buckets);

struct JobImportance {
  std::span<const double> importance;
  double stall = 0;
};

// Over the jobs that share a data set: the maximum, each weighed by its stall against the largest.
std::vector<double> combined_importance(std::span<const JobImportance> jobs);

struct SweepFacts {
  std::span<const double> importance;
  const std::vector<bool>& read;         // this epoch
  const std::vector<bool>& waiting;      // in the waiting bucket
  std::span<const std::uint64_t> bytes = {};  // of each sample; empty: all alike
  std::span<const Index> declared = {};  // the order the job will read in, if it said so
};

// The unread samples, in the order to fetch them: as declared; else those in process, then the waiting ones, each the
// most important first. Of equals the smallest: a miss takes about as long whatever its size, and more of them fit.
std::vector<Index> sweep_order(const SweepFacts& facts);

}  // namespace winnow
