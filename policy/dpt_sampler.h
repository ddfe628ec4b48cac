// Importance-aware data-parallel training: after a warm-up with random parts, samples are ranked by the
// losses of the interval just ended and dealt to the workers; the parts stay for an interval.
#pragma once

#include "policy/importance.h"
#include "policy/sampler.h"

namespace winnow {

struct DptOptions {
  std::int64_t warmup_epochs = 10;
  std::int64_t ignore_epochs = 5;
  std::int64_t interval_epochs = 10;
  Measure measure = Measure::average;
  Layout layout = Layout::stripes;
  std::uint64_t seed = 0;
};

const ParameterTable<DptOptions>& dpt_parameters();

class DptSampler final : public Sampler {
 public:
  explicit DptSampler(const DptOptions& options);
  std::vector<Index> order(const Scores& scores, const EpochRequest& request) const override;
  EpochDecision end_epoch(Scores& scores, const EpochTimes& times) override;
  void save(StateWriter& state) const override;
  void load(StateReader& state) override;

 private:
  bool warming_up() const { return epochs_ended_ < options_.warmup_epochs; }
  std::vector<Index> ranked(const Scores& scores) const;

  DptOptions options_;
  Index epochs_ended_ = 0;
};

}  // namespace winnow
