#include "fs/declared_order.h"

#include <algorithm>

namespace winnow {

DeclaredOrder::DeclaredOrder(std::vector<SampleId> order, Clock::time_point now)
    : order_(std::move(order)), read_(order_.size()), left_(order_.size()), last_read_(now) {
  for (std::size_t i = 0; i < order_.size(); ++i) place_.set(value(order_[i]), static_cast<std::uint32_t>(i + 1));
}

std::optional<SampleId> DeclaredOrder::next() const {
  if (!is_in_force() || next_ >= order_.size()) return std::nullopt;
  return order_[next_];
}

std::optional<SampleId> DeclaredOrder::next_near() const {
  if (!is_in_force() || next_near_ >= next_) return std::nullopt;
  return order_[next_near_];
}

void DeclaredOrder::note_read(SampleId id, Clock::time_point now) {
  const std::size_t place = place_.get(value(id));
  if (!is_in_force() || place == 0 || read_[place - 1]) return;
  read_[place - 1] = true;
  --left_;
  furthest_ = std::max(furthest_, place);
  last_read_ = now;
}

void DeclaredOrder::note_reader(SampleId id, int group) {
  if (!is_in_force() || !contains(id)) return;
  followers_.insert(group);
  ++followed_;
}

std::vector<SampleId> DeclaredOrder::passed_before(SampleId id) {
  std::vector<SampleId> passed;
  const std::size_t place = place_.get(value(id));
  for (; until_ + kReadersApart < place; ++until_) passed.push_back(order_[until_]);
  return passed;
}

bool DeclaredOrder::is_abandoned(const ReaderJobs& jobs, Clock::time_point now,
                                 const std::function<bool(int)>& is_alive) {
  if (!is_in_force()) return false;
  std::erase_if(followers_, [&](int group) { return !is_alive(group); });
  if (followers_.empty() && followed_ >= kFollowed) return true;
  if (now - last_read_ < kLongestRest) return false;
  return std::any_of(jobs.all().begin(), jobs.all().end(), [&](const auto& entry) {
    const auto& [group, job] = entry;
    return job.watch.is_job() && !followers_.contains(group) && job.last_seen > last_read_ &&
           now - job.last_seen < kLongestRest;
  });
}

}  // namespace winnow
