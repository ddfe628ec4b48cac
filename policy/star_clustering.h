// Stars over the hashes of one label: each hash not yet grouped, in order, becomes a representative and takes
// the first of the later ungrouped ones within `max_distance` bits of it. Exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace winnow {

// For every hash the position of its representative. `max_group` counts the representative; 0 = no limit.
std::vector<std::uint32_t> cluster_stars(std::span<const std::uint64_t> hashes, int max_distance,
                                         std::size_t max_group);

}  // namespace winnow
