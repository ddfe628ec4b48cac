// Has training stopped getting better? Counts epochs whose accuracy did not rise above the best one so far.
#pragma once

#include <cstdint>
#include <optional>

namespace winnow {

class Plateau {
 public:
  Plateau(std::int64_t patience, double epsilon) : patience_(patience), epsilon_(epsilon) {}

  // Takes in an epoch's accuracy; true when `patience` epochs in a row brought no rise. Then the counter
  // restarts and the best value stays. The best moves only on a rise by more than epsilon.
  bool update(double accuracy) {
    if (!best_ || accuracy > *best_ + epsilon_) {
      best_ = accuracy;
      flat_epochs_ = 0;
      return false;
    }
    if (++flat_epochs_ < patience_) return false;
    flat_epochs_ = 0;
    return true;
  }

  std::optional<double> best() const { return best_; }
  std::int64_t flat_epochs() const { return flat_epochs_; }
  void restore(std::optional<double> best, std::int64_t flat_epochs) {
    best_ = best;
    flat_epochs_ = flat_epochs;
  }

 private:
  std::int64_t patience_;
  double epsilon_;
  std::optional<double> best_;
  std::int64_t flat_epochs_ = 0;
};

}  // namespace winnow
