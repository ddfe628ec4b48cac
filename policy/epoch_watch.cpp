#include "policy/epoch_watch.h"

#include <algorithm>
#include <set>

namespace winnow {

EpochWatch::Seen EpochWatch::on_read(SampleId id, std::optional<Step> step) {
  const std::uint64_t before = last_read_.get(value(id));
  const bool is_fresh = before <= begin_;
  const bool again = !is_fresh && is_again(before);
  if (is_fresh || again) ++clock_;
  last_read_.set(value(id), clock_);
  recent_[recent_count_++ % kRecent] = id;
  if (!is_fresh && !again) return Seen::kNothing;  // the same use of it
  if (step) {
    ++steps_;
    by_name_ = (by_name_ << 1).set(0, step->behind_by_name);
    by_listing_ = (by_listing_ << 1).set(0, step->behind_by_listing);
  }
  again_ = (again_ << 1).set(0, again);
  if (again) ++repeats_;
  if (is_fresh) ++reads_;
  judge_cleanness();
  if (is_fresh && !may_be_part() && before <= begin_before_) ++surprises_;
  // Parts that differ from epoch to epoch, as of a data set shared by several nodes, tell nothing of the next one.
  if (reads_ >= kSteps && surprises_ * 8 > reads_) parts_differ_ = true;

  if (const std::size_t back = begun_anew(); back > 0) return end_epoch(back);
  const std::uint64_t whole = epoch_ == 1 ? samples_ : expected_;
  if (is_fresh && reads_ == whole && reads_ > 1) return end_epoch(0);
  return shows_job() ? Seen::kJob : Seen::kNothing;
}

// Whoever draws with replacement has read several samples twice by now; whoever does not has begun anew once it does.
void EpochWatch::judge_cleanness() {
  if (is_judged_ || reads_ * reads_ < 24 * samples_) return;
  is_judged_ = true;
  is_clean_ = repeats_ <= kStrays;
}

// How many of the last reads belong to a new epoch: all since the first repeated one. 0: it has not begun.
std::size_t EpochWatch::begun_anew() const {
  const std::size_t few = std::max<std::size_t>(kFewAgain, kWindow * reads_ / std::max<std::uint64_t>(1, samples_) / 2);
  std::size_t back = 0;
  if ((again_ << (kWindow - kLast)).count() >= kMostlyAgain) {
    back = kLast;
  } else if (is_clean_ && again_.count() >= few) {
    back = kWindow;
  }
  while (back > 0 && !again_.test(back - 1)) --back;
  return back;
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
  is_job_ = comes_again || (steps_ >= kSteps && std::max(by_name_.count(), by_listing_.count()) < kMostlyInOrder);
  return is_job_;
}

// The last `back` reads belong to the next one.
EpochWatch::Seen EpochWatch::end_epoch(std::size_t back) {
  const std::size_t repeated = back == 0 ? 0 : (again_ << (kWindow - back)).count();
  begin_before_ = begin_;
  begin_ = clock_ - back;
  expected_ = reads_ - (back - repeated);
  reads_ = different_since(begin_);
  surprises_ = repeats_ = 0;
  is_judged_ = is_clean_ = false;
  again_.reset();
  ++epoch_;
  if (is_job_) return Seen::kEpochEnd;
  return shows_job() ? Seen::kJob : Seen::kNothing;
}

}  // namespace winnow
