// The one source of chance: xoshiro256** seeded by four steps of splitmix64, the same on every machine.
// A choice takes a seed derived from what it is for, so that no two choices share their draws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "policy/sample.h"

namespace winnow {

enum class Purpose : std::uint64_t {
  recall = 1,
  partition = 2,
  epoch_shuffle = 3,
  uniform_method = 4,
  online = 5,
  active_bias = 6,
  biggest_loser = 7,
  two_random = 8,
  controls = 9,
};

std::uint64_t splitmix64(std::uint64_t state);  // one step: adds the constant, then mixes
std::uint64_t sub_seed(std::uint64_t seed, std::span<const std::uint64_t> parts);
std::uint64_t sub_seed(std::uint64_t seed, Purpose purpose, Index epoch, Index worker = 0);

class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next();
  double unit();                         // in [0, 1)
  std::uint64_t below(std::uint64_t n);  // in [0, n), n > 0, without bias

  template <typename T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[below(i + 1)]);
  }

  // `count` of the ascending ids, ascending.
  std::vector<Index> pick(std::vector<Index> ids, std::size_t count);

  std::span<const std::uint64_t, 4> state() const { return state_; }  // to go on elsewhere
  void set_state(std::span<const std::uint64_t, 4> state) { std::copy(state.begin(), state.end(), state_); }

 private:
  std::uint64_t state_[4];
};

std::vector<Index> shuffled_indices(Index count, std::uint64_t seed);

}  // namespace winnow
