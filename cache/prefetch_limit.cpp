#include "cache/prefetch_limit.h"

#include <algorithm>

namespace winnow {

void PrefetchLimit::on_success(Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  if (probing_ > 0) return probe(seconds);
  usual_ = usual_ == 0 ? seconds : 0.9 * usual_ + 0.1 * seconds;
  quickest_ = quickest_ == 0 ? seconds : std::min(quickest_, seconds);
  if (++answers_ >= kProbeEvery) {
    answers_ = 0;
    after_probe_ = limit_;
    limit_ = std::max(1.0, limit_ / 4);
    probing_ = static_cast<int>(after_probe_ + 2 * limit_) + 1;
    probed_ = 0;
    return;
  }
  if (--until_change_ > 0) return;
  const bool is_slow = usual_ > kSlow * quickest_ && usual_ > quickest_ + kSlowBy;
  limit_ = is_slow ? std::max(1.0, limit_ * 0.8) : std::min<double>(most_, limit_ + 1);
  until_change_ = is_slow ? static_cast<int>(limit_) : 2;
}

// A source that was always asked too much at once would look as if it were this slow by nature.
void PrefetchLimit::probe(double seconds) {
  const bool was_asked_before = probing_ > static_cast<int>(2 * limit_) + 1;
  if (!was_asked_before) probed_ = probed_ == 0 ? seconds : std::min(probed_, seconds);
  if (--probing_ > 0) return;
  quickest_ = usual_ = probed_;
  limit_ = after_probe_;
  until_change_ = static_cast<int>(limit_);
}

void PrefetchLimit::on_failure() {
  probing_ = 0;
  limit_ = std::max(1.0, limit_ / 2);
  until_change_ = static_cast<int>(limit_) + 1;
}

}  // namespace winnow
