// Is a job bound by input or by compute? Decided from the times of its profiled epochs; the answer chooses
// which criteria vote and which form of redundancy removal `auto` takes.
#pragma once

#include <span>
#include <vector>

#include "policy/criteria.h"

namespace winnow {

struct EpochTimes {
  double io_wait = 0;  // seconds the training loop waited for samples
  double compute = 0;  // seconds it did not
};

enum class Task { classification, loss_only };  // loss_only: no class probabilities

// Share of waiting over the profiled epochs, the first (cold) left out if there are more; 0 if nothing was
// measured. Negative or non-finite times are refused.
double stall_of(std::span<const EpochTimes> profiled);

std::vector<Criterion> voting_criteria(bool io_bound, Task task);

}  // namespace winnow
