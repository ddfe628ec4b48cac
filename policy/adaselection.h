// AdaSelection: rates the samples of a batch by a mix of methods whose weights follow how the loss of what
// each method would select changes, and keeps the best.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/batch_selector.h"
#include "policy/parameters.h"
#include "policy/random.h"
#include "policy/selection_methods.h"

namespace winnow {

enum class WeightRule { relative, log };
enum class CurriculumScale { squares, mean };

struct AdaSelectionOptions {
  std::vector<Method> methods = {Method::uniform, Method::big_loss, Method::small_loss};
  std::int64_t batch = 0;  // nominal size; 0: that of the first batch
  double rate = 0.3;
  double beta = 0.5;
  double weight_floor = 0.1;
  WeightRule weight_rule = WeightRule::relative;
  bool curriculum = false;
  double curriculum_power = -0.5;
  CurriculumScale curriculum_scale = CurriculumScale::squares;
  double adaboost_margin = 1e-2;
  std::int64_t worker = 0;
  std::uint64_t seed = 0;
};

const ParameterTable<AdaSelectionOptions>& adaselection_parameters();

class AdaSelection final : public BatchSelector {
 public:
  // What went into the last selection, method by method.
  struct Detail {
    Index k = 0;
    std::vector<std::vector<double>> alpha;
    std::vector<std::vector<Index>> method_selection;
    std::vector<double> method_loss;
    std::vector<double> weights;
    std::vector<double> reward;
    std::vector<double> score;
  };

  explicit AdaSelection(const AdaSelectionOptions& options);
  const Selection& select(const Batch& batch) override;
  void set_epoch(Index epoch) override;
  void save(StateWriter& state) const override;
  void load(StateReader& state) override;

  const AdaSelectionOptions& options() const { return options_; }
  const Detail& detail() const { return detail_; }
  Index carry() const { return carry_; }

 private:
  void check(const Batch& batch) const;
  bool uses(Method method) const;
  void rate_by_methods(const Batch& batch);
  void update_weights(const std::vector<double>& former_loss);
  double change(double former, double current) const;
  void update_reward(std::span<const double> loss);
  void update_score();
  void accumulate();

  AdaSelectionOptions options_;
  Random random_;
  Index steps_ = 0;
  Index carry_ = 0;
  Detail detail_;
  Selection selection_;
  std::vector<double> draws_;
  std::vector<double> values_;
};

}  // namespace winnow
