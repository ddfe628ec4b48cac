// Finding 64-bit hashes near a given one, as fast as the processor allows.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace winnow {

inline int hamming(std::uint64_t a, std::uint64_t b) { return std::popcount(a ^ b); }

// Position of the first hash, from `begin` on, that differs from `probe` in at most `distance` bits;
// hashes.size() if there is none.
std::size_t first_within(std::span<const std::uint64_t> hashes, std::size_t begin, std::uint64_t probe,
                         int distance);

}  // namespace winnow
