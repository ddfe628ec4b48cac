#include "policy/epoch_watch.h"

#include <algorithm>
#include <set>

namespace winnow {

EpochWatch::Seen EpochWatch::on_read(SampleId id, Step step) {
  const std::uint64_t before = last_read_.get(value(id));
  const bool is_fresh = before <= begin_;
  const bool again = !is_fresh && is_again(before);
  if (is_fresh || again) ++clock_;
  last_read_.set(value(id), clock_);
  recent_[recent_count_++ % kRecent] = id;
  if (!is_fresh && !again) return Seen::kNothing;  // the same use of it
  by_name_ = (by_name_ << 1).set(0, step.behind_by_name);
  by_listing_ = (by_listing_ << 1).set(0, step.behind_by_listing);
  again_ = (again_ << 1).set(0, again);
  if (is_fresh) ++reads_;
  if (is_fresh && !expects_all() && before <= begin_before_) ++surprises_;
  // Parts that differ from epoch to epoch, as of a data set shared by several nodes, tell nothing of the next one.
  if (reads_ >= kSteps && surprises_ * 8 > reads_) parts_differ_ = true;

  if (again_.count() >= kMostlyAgain) {
    // All of the window since its first repeated read belongs to the new epoch.
    std::size_t back = kWindow;
    while (!again_.test(back - 1)) --back;
    return end_epoch(clock_ - back, different_since(clock_ - back));
  }
  const std::uint64_t whole = expects_all() ? samples_ : expected_;
  if (is_fresh && reads_ == whole && reads_ > 1) return end_epoch(clock_, 0);
  return shows_job() ? Seen::kJob : Seen::kNothing;
}

// How many samples were last read after that.
std::uint64_t EpochWatch::different_since(std::uint64_t begin) const {
  std::set<std::uint64_t> found;
  for (std::size_t i = 0; i < std::min<std::uint64_t>(kRecent, recent_count_); ++i) {
    const std::uint64_t id = value(recent_[i]);
    if (last_read_.get(id) > begin) found.insert(id);
  }
  return found.size();
}

// Long ago, by the number of reads since.
bool EpochWatch::is_again(std::uint64_t before) const {
  return clock_ - before >= std::clamp<std::uint64_t>(reads_ / 4, 16, 64);
}

bool EpochWatch::shows_job() {
  if (is_job_ || clock_ < kSteps) return false;
  const bool comes_again = epoch_ > 1 && reads_ >= std::min<std::uint64_t>(kSteps, samples_ / 2);
  is_job_ = comes_again || std::max(by_name_.count(), by_listing_.count()) < kMostlyInOrder;
  return is_job_;
}

EpochWatch::Seen EpochWatch::end_epoch(std::uint64_t begin, std::uint64_t reads) {
  begin_before_ = begin_;
  begin_ = begin;
  expected_ = reads_;
  reads_ = reads;
  surprises_ = 0;
  again_.reset();
  ++epoch_;
  if (is_job_) return Seen::kEpochEnd;
  return shows_job() ? Seen::kJob : Seen::kNothing;
}

}  // namespace winnow
