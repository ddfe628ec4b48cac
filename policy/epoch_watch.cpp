#include "policy/epoch_watch.h"

#include <algorithm>
#include <cmath>
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
  if (is_fresh) ++reads_;
  if (is_fresh && epoch_ > 1 && before <= begin_before_) ++surprises_;
  if (again) {
    ++repeats_;
    clean_from_ = std::max(clean_from_, before);
  }
  judge_cleanness();
  judge_parts();
  weigh(again);
  if (const Evidence* evidence = begun_anew()) return end_epoch(evidence->from, evidence->fresh);
  if (is_fresh && has_read_all()) return end_epoch(clock_, 0);
  return shows_job() ? Seen::kJob : Seen::kNothing;
}

// Whoever draws with replacement has read several samples twice by now; whoever does not has begun anew once it does.
// If part of another epoch came before, a later stretch is clean.
void EpochWatch::judge_cleanness() {
  const auto is_long = [&](std::uint64_t reads) { return reads * reads >= 24 * samples_; };
  if ((repeats_ <= kStrays && is_long(reads_)) || is_long(clock_ - clean_from_)) is_clean_ = true;
}

// Parts that differ from epoch to epoch, as of a data set shared by several nodes, tell nothing of the next one. It
// looks the same after an epoch that was seen only in part, until the next but one reads nothing new.
void EpochWatch::judge_parts() {
  if (epoch_ > 1 && (reads_ >= kSteps || surprises_ > kStrays)) parts_differ_ = surprises_ * 8 > reads_;
}

// A part dealt anew has of each epoch before the share that the part is of all.
void EpochWatch::weigh(bool again) {
  const double share = static_cast<double>(reads_) / static_cast<double>(std::max<std::uint64_t>(1, samples_));
  const double by_chance = std::min(share, kMostly);
  by_chance_.weigh(again, by_chance, by_chance / kFewer, clock_);
  mostly_.weigh(again, kMostly, kOften, clock_);
}

void EpochWatch::Evidence::weigh(bool again, double share_anew, double share_else, std::uint64_t now) {
  sum += again ? std::log(share_anew / share_else) : std::log((1 - share_anew) / (1 - share_else));
  if (!again) ++fresh;
  if (sum <= 0) *this = {.from = now};
}

// What shows it; nothing if it has not. Whoever draws with replacement reads samples again by chance all the time.
const EpochWatch::Evidence* EpochWatch::begun_anew() const {
  const double enough = epoch_ > 1 && reads_ >= expected_ ? kLikely : kSure;
  if (is_clean_ && by_chance_.sum >= enough) return &by_chance_;
  return mostly_.sum >= enough ? &mostly_ : nullptr;
}

// Everything there is, or everything that was expected and little else. The number alone tells nothing: the epoch
// before may have been seen only in part.
bool EpochWatch::has_read_all() const {
  if (reads_ <= 1) return false;
  if (epoch_ == 1) return reads_ == samples_;
  return reads_ - surprises_ == expected_ && surprises_ * 8 <= reads_;
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

// The reads after `begin` belong to the next one; so many of them are of samples that this one had not read.
EpochWatch::Seen EpochWatch::end_epoch(std::uint64_t begin, std::uint64_t fresh) {
  begin_before_ = begin_;
  begin_ = begin;
  clean_from_ = std::max(clean_from_, begin);
  expected_ = reads_ - fresh;
  reads_ = std::max(clock_ - begin, different_since(begin));
  surprises_ = fresh;
  repeats_ = 0;
  is_clean_ = false;
  by_chance_ = mostly_ = {.from = clock_};
  ++epoch_;
  judge_parts();
  if (is_job_) return Seen::kEpochEnd;
  return shows_job() ? Seen::kJob : Seen::kNothing;
}

}  // namespace winnow
