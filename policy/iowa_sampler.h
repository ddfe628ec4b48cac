// IOWA: trains the in-process bucket. Profiles first, then lets criteria vote samples out at every epoch end
// and recalls some when training stops improving; may leave out or replace near duplicates within an epoch.
#pragma once

#include <vector>

#include "policy/sampler.h"

namespace winnow {

enum class Variant { norecall, random, random_rremove, random_rrepeat, automatic };

struct IowaOptions : BucketOptions {
  Variant variant = Variant::random;
  Task task = Task::classification;
  std::vector<Criterion> criteria = {};  // empty: by workload
  double io_bound_at = 0.5;
  std::int64_t max_repeats = 4;
};

const ParameterTable<IowaOptions>& iowa_parameters();

class IowaSampler final : public Sampler {
 public:
  explicit IowaSampler(const IowaOptions& options);
  std::vector<Index> order(const Scores& scores, const EpochRequest& request) const override;
  EpochDecision end_epoch(Scores& scores, const EpochTimes& times) override;
  void save(StateWriter& state) const override;
  void load(StateReader& state) override;

  void set_out_order(OutOrder order) { out_order_ = order; }  // whether decisions list who leaves worst first
  void profile_again();  // the workload is judged anew after another `profile_epochs` epochs

 private:
  std::vector<Criterion> criteria() const;
  bool removes() const;
  bool repeats() const;
  void judge_workload();

  IowaOptions options_;
  BucketSampler sampler_;
  std::vector<EpochTimes> profiled_;
  std::optional<double> stall_;
  OutOrder out_order_ = OutOrder::any;
  std::vector<double> column_;
};

}  // namespace winnow
