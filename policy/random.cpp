#include "policy/random.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace winnow {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
__extension__ using Wide = unsigned __int128;

}  // namespace

std::uint64_t splitmix64(std::uint64_t state) {
  std::uint64_t mixed = state + kGolden;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

std::uint64_t sub_seed(std::uint64_t seed, std::span<const std::uint64_t> parts) {
  for (const std::uint64_t part : parts) seed = splitmix64(seed ^ part);
  return seed;
}

std::uint64_t sub_seed(std::uint64_t seed, Purpose purpose, Index epoch, Index worker) {
  const std::uint64_t parts[] = {static_cast<std::uint64_t>(purpose), static_cast<std::uint64_t>(epoch),
                                 static_cast<std::uint64_t>(worker)};
  return sub_seed(seed, parts);
}

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {
    word = splitmix64(seed);
    seed += kGolden;
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

std::uint64_t Random::below(std::uint64_t n) {
  Wide product = static_cast<Wide>(next()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    // The lowest 2^64 mod n products would make some results likelier than others: draw again.
    const std::uint64_t biased = -n % n;
    while (static_cast<std::uint64_t>(product) < biased) product = static_cast<Wide>(next()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

std::vector<Index> Random::pick(std::vector<Index> ids, std::size_t count) {
  shuffle(std::span<Index>(ids));
  ids.resize(std::min(count, ids.size()));
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<Index> shuffled_indices(Index count, std::uint64_t seed) {
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  Random(seed).shuffle(std::span<Index>(order));
  return order;
}

}  // namespace winnow
