// The two numbers the papers lean on: a quantile of scores, and how many samples a fraction is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "policy/sample.h"

namespace winnow {

// Quantile q of the values that are numbers (NaN is skipped): with n of them sorted, linear interpolation at
// position (n − 1)·q. nullopt when there is none. Linear in time.
std::optional<double> quantile(std::span<const double> values, double q);

// The mathematical ceil(fraction · n): 0.07 of 100 is 7, whatever the binary fraction says.
Index ceil_of(double fraction, Index n);

}  // namespace winnow
