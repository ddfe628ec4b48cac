// What every policy calls a sample: one file of the data set, named by the id the catalogue gave it.
// Ids are given once and never reused; they ascend, so arrays indexed by id stay dense.
// The samplers count instead: sample i of n, 0 to n − 1, in ascending order of id.
#pragma once

#include <cstdint>

namespace winnow {

enum class SampleId : std::uint64_t {};

constexpr std::uint64_t value(SampleId id) { return static_cast<std::uint64_t>(id); }

using Index = std::int64_t;
inline constexpr Index kNoSample = -1;

}  // namespace winnow
