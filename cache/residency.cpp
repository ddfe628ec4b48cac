#include "cache/residency.h"

#include <algorithm>

namespace winnow {

Residency::Residency(std::uint64_t budget_bytes, std::unique_ptr<EvictionPolicy> policy, PageCounts& pages)
    : budget_bytes_(budget_bytes), policy_(std::move(policy)), pages_(pages) {
  for (auto id = pages_.next_set(SampleId{}); id; id = pages_.next_set(SampleId{value(*id) + 1})) {
    policy_->on_insert(*id, {.bytes = pages_.get(*id) * kPage});
    total_pages_ += pages_.get(*id);
    ++samples_;
  }
  high_water_pages_ = total_pages_;
}

bool Residency::add(SampleId id, std::uint64_t bytes, std::uint64_t file_bytes) {
  const std::uint64_t file_pages = (file_bytes + kPage - 1) / kPage;
  const std::uint64_t more = (bytes + kPage - 1) / kPage;
  const std::lock_guard lock(mutex_);
  const std::uint64_t pages = std::min(file_pages, pages_.get(id) + more);
  set_pages(id, static_cast<std::uint32_t>(std::min<std::uint64_t>(pages, UINT32_MAX)));
  return (total_pages_ - dropping_pages_) * kPage > budget_bytes_;
}

void Residency::touch(SampleId id) {
  const std::lock_guard lock(mutex_);
  policy_->on_hit(id);
}

void Residency::correct(SampleId id, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  set_pages(id, static_cast<std::uint32_t>(std::min<std::uint64_t>((bytes + kPage - 1) / kPage, UINT32_MAX)));
}

void Residency::set_pages(SampleId id, std::uint32_t pages) {
  const std::uint32_t before = pages_.get(id);
  if (dropping_.get(value(id))) {
    dropping_.set(value(id), false);
    dropping_pages_ -= before;
    if (pages > 0) policy_->on_insert(id, {.bytes = pages * kPage});
  } else if (pages > before) {
    policy_->on_insert(id, {.bytes = pages * kPage});
  } else if (pages == 0 && before > 0) {
    policy_->on_remove(id);
  }
  samples_ += (pages > 0) - (before > 0);
  total_pages_ = total_pages_ - before + pages;
  high_water_pages_ = std::max(high_water_pages_, total_pages_);
  pages_.set(id, pages);
}

std::vector<SampleId> Residency::choose_victims() {
  const std::lock_guard lock(mutex_);
  std::vector<SampleId> victims;
  if ((total_pages_ - dropping_pages_) * kPage <= budget_bytes_) return victims;
  // A little below the budget, so that a full cache does not drop one sample for each that comes.
  const std::uint64_t target_pages = (budget_bytes_ - budget_bytes_ / 32) / kPage;
  while (total_pages_ - dropping_pages_ > target_pages) {
    const auto victim = policy_->victim();
    if (!victim) break;
    policy_->on_remove(*victim);
    dropping_.set(value(*victim), true);
    dropping_pages_ += pages_.get(*victim);
    victims.push_back(*victim);
  }
  return victims;
}

std::vector<SampleId> Residency::sample(std::size_t count) {
  const std::lock_guard lock(mutex_);
  std::vector<SampleId> found;
  while (found.size() < count) {
    const auto next = pages_.next_set(sample_cursor_);
    if (!next) {
      sample_cursor_ = SampleId{};
      break;
    }
    found.push_back(*next);
    sample_cursor_ = SampleId{value(*next) + 1};
  }
  return found;
}

std::uint64_t Residency::bytes(SampleId id) const {
  const std::lock_guard lock(mutex_);
  return pages_.get(id) * kPage;
}

std::uint64_t Residency::total_bytes() const {
  const std::lock_guard lock(mutex_);
  return total_pages_ * kPage;
}

std::uint64_t Residency::high_water_bytes() const {
  const std::lock_guard lock(mutex_);
  return high_water_pages_ * kPage;
}

std::uint64_t Residency::samples() const {
  const std::lock_guard lock(mutex_);
  return samples_;
}

}  // namespace winnow
