// DPT's importance of a sample: the average or the variance of its losses over the interval just ended.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "policy/running_mean.h"
#include "policy/sample.h"

namespace winnow {

enum class Measure { average, variance };

// Renews `importance` (NaN: none yet) from each sample's losses of the interval. Without a loss a sample
// keeps what it has; without any importance it gets the mean of the others, 0 if nobody has one. If no sample
// has more than one loss, variance falls back to average; a single loss among longer histories counts as
// none.
void renew_importance(std::span<double> importance, Measure measure,
                      const std::function<RunningMean(Index)>& losses_of);

// Epochs, from 0, at which an interval with a fixed partition begins.
std::vector<Index> interval_starts(Index epochs, Index warmup_epochs, Index interval_epochs);

}  // namespace winnow
