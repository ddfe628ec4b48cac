// Decides what an epoch trains, and in which order. The scores are the caller's, one store for all samplers.
// An epoch goes: order() as often as wanted, reports into the scores, then end_epoch() once. The same seed,
// scores and calls give the same orders on every machine. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policy/bucket_sampler.h"
#include "policy/groups.h"
#include "policy/partition.h"
#include "policy/scores.h"
#include "policy/workload.h"

namespace winnow {

struct EpochRequest {
  Index epoch = 0;  // from 0; it seeds the order
  Worker worker = {};
  Equalise equalise = Equalise::pad;
  const Groups* groups = nullptr;               // similarity groups, where the sampler uses them
  std::function<bool(Index)> cached = nullptr;  // which samples are at hand, where it uses that
};

// What the end of an epoch decided. Samplers without buckets leave most of it as it is.
struct EpochDecision {
  std::vector<Criterion> criteria;
  EpochEnd buckets;
  std::optional<double> stall;  // once the workload was judged
  bool io_bound = false;
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual std::vector<Index> order(const Scores& scores, const EpochRequest& request) const = 0;
  virtual EpochDecision end_epoch(Scores& scores, const EpochTimes& times) = 0;
  virtual void save(StateWriter& state) const = 0;
  virtual void load(StateReader& state) = 0;
};

}  // namespace winnow
