// Ordering many samples by a number, in time linear in their count.
#pragma once

#include <span>
#include <vector>

#include "policy/sample.h"

namespace winnow {

// Indices by descending value, ties by ascending index. NaN comes first: a sample without a value is one that
// nobody knows to be unimportant.
std::vector<Index> rank_descending(std::span<const double> values);

}  // namespace winnow
