#include "cache/prefetch_limit.h"

#include <algorithm>

namespace winnow {

void PrefetchLimit::on_success(Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  if (probing_ > 0) return probe(seconds);
  usual_ = usual_ == 0 ? seconds : 0.9 * usual_ + 0.1 * seconds;
  if (--until_probe_ <= 0) return begin_probe();
  if (--until_change_ > 0) return;
  bool is_slow = unhurried_ > 0 && usual_ > kSlow * unhurried_ && usual_ > unhurried_ + kSlowBy;
  if (is_slow && limit_ <= kFew) {  // so few make no queue: this is its pace now
    unhurried_ = usual_;
    is_slow = false;
  }
  limit_ = is_slow ? std::max(1.0, limit_ * 0.9) : std::min<double>(most_, limit_ + 1);
  was_slow_ = was_slow_ || is_slow;
  until_change_ = was_slow_ ? static_cast<int>(limit_) : 4;
}

// Half as many wait in no queue, or in a shorter one: of a longer, the next probe finds out.
void PrefetchLimit::begin_probe() {
  until_probe_ = kProbeEvery;
  after_probe_ = limit_;
  limit_ = std::max(1.0, limit_ / 2);
  probing_ = static_cast<int>(after_probe_ + 2 * limit_) + 1;
  probed_ = 0;
}

void PrefetchLimit::probe(double seconds) {
  const int counted = static_cast<int>(2 * limit_) + 1;  // those before were asked for with more under way
  if (probing_ <= counted) probed_ += seconds;
  if (--probing_ > 0) return;
  unhurried_ = usual_ = probed_ / counted;
  limit_ = after_probe_;
  until_change_ = static_cast<int>(limit_);
}

void PrefetchLimit::on_failure() {
  probing_ = 0;
  was_slow_ = false;
  limit_ = std::max(1.0, limit_ / 2);
  until_change_ = static_cast<int>(limit_) + 1;
}

}  // namespace winnow
