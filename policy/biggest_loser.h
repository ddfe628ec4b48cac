// Biggest Loser: keeps a sample with a probability that grows with the rank of its loss among the last ones.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "policy/batch_selector.h"
#include "policy/parameters.h"
#include "policy/random.h"

namespace winnow {

struct BiggestLoserOptions {
  std::int64_t window = 1024;
  double beta = 2;
  std::int64_t worker = 0;
  std::uint64_t seed = 0;
};

const ParameterTable<BiggestLoserOptions>& biggest_loser_parameters();

class BiggestLoser final : public BatchSelector {
 public:
  explicit BiggestLoser(const BiggestLoserOptions& options);
  const Selection& select(const Batch& batch) override;  // what is kept is a step; nothing kept, no step
  void set_epoch(Index epoch) override;
  void save(StateWriter& state) const override;
  void load(StateReader& state) override;
  const std::vector<double>& probability() const { return probability_; }  // of the last batch

 private:
  BiggestLoserOptions options_;
  Random random_;
  std::deque<double> window_;
  std::vector<double> probability_;
  Selection selection_;
};

}  // namespace winnow
