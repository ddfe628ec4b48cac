#include "cache/residency.h"

#include <algorithm>
#include <utility>

namespace winnow {

Residency::Residency(std::uint64_t budget_bytes, std::unique_ptr<EvictionPolicy> policy, PageCounts& pages)
    : budget_bytes_(budget_bytes),
      policy_(std::move(policy)),
      by_epoch_(dynamic_cast<EpochEviction*>(policy_.get())),
      pages_(pages) {
  for (auto id = pages_.next_set(SampleId{}); id; id = pages_.next_set(SampleId{value(*id) + 1})) {
    policy_->on_insert(*id, facts(*id, pages_.get(*id)));
    total_pages_ += pages_.get(*id);
    ++samples_;
  }
  high_water_pages_ = total_pages_;
}

CachedFacts Residency::facts(SampleId id, std::uint64_t pages) const {
  return {.bytes = pages * kPage,
          .importance = importance_.get(value(id)).value,
          .read = read_in_.get(value(id)) == epoch_};
}

bool Residency::add(SampleId id, std::uint64_t bytes, std::uint64_t file_bytes, bool ahead) {
  const std::uint64_t file_pages = (file_bytes + kPage - 1) / kPage;
  const std::uint64_t more = (bytes + kPage - 1) / kPage;
  const std::lock_guard lock(mutex_);
  const std::uint64_t pages = std::min(file_pages, pages_.get(id) + more);
  if (!ahead) note_read(id);
  if (!ahead) largest_read_ = std::max(largest_read_, file_bytes);
  set_pages(id, static_cast<std::uint32_t>(std::min<std::uint64_t>(pages, UINT32_MAX)));
  if (ahead && read_in_.get(value(id)) != epoch_) {
    ahead_pages_ += pages_.get(id) - ahead_.get(value(id));
    ahead_.set(value(id), pages_.get(id));
  }
  const std::uint64_t total = (total_pages_ - dropping_pages_) * kPage;
  if (total + room_for_passing() > budget_bytes_ && !policy_->victim()) newcomers_.push_back(id);
  return is_over();
}

// Where nobody leaves, who comes last goes again; but its reader must have had the time to copy it.
std::uint64_t Residency::room_for_passing() const {
  return std::max(budget_bytes_ / 64, std::min(budget_bytes_ / 4, kLeastForPassing));
}

bool Residency::is_over() const { return (total_pages_ - dropping_pages_) * kPage > budget_bytes_; }

bool Residency::is_over_budget() const {
  const std::lock_guard lock(mutex_);
  return is_over();
}

void Residency::touch(SampleId id) {
  const std::lock_guard lock(mutex_);
  note_read(id);
  policy_->on_hit(id);
}

void Residency::note_read(SampleId id) {
  if (by_epoch_ != nullptr) read_in_.set(value(id), epoch_);
  ahead_pages_ -= ahead_.get(value(id));
  ahead_.set(value(id), 0);
}

void Residency::set_importance(SampleId id, double importance) {
  const std::lock_guard lock(mutex_);
  importance_.set(value(id), {importance});
  if (pages_.get(id) > 0 && !dropping_.get(value(id))) policy_->on_insert(id, facts(id, pages_.get(id)));
}

void Residency::begin_epoch() {
  const std::lock_guard lock(mutex_);
  ++epoch_;
  largest_read_before_ = std::exchange(largest_read_, 0);
  if (by_epoch_ != nullptr) by_epoch_->begin_epoch();
}

bool Residency::has_room_ahead(std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  if (by_epoch_ == nullptr) return total_pages_ * kPage + bytes <= budget_bytes_;
  return ahead_pages_ * kPage + bytes + room_for_readers() <= budget_bytes_;
}

std::uint64_t Residency::most_ahead(std::uint64_t budget_bytes) {
  return budget_bytes - std::min(budget_bytes / 2, kLeastForReaders + room_at_a_time(budget_bytes));
}

// Pages of files being read must not be dropped for what comes ahead, or they are read twice: so many files as large as
// those that are read, besides what is dropped at a time. Of large files, a quarter of the budget and 16 MiB are enough.
std::uint64_t Residency::room_for_readers() const {
  const std::uint64_t files = kReadersAtOnce * std::max(largest_read_, largest_read_before_);
  const std::uint64_t most = std::max({kLeastForReaders, budget_bytes_ / 4, kEnoughForReaders});
  return std::min(budget_bytes_ / 2, std::clamp(files, kLeastForReaders, most) + room_at_a_time(budget_bytes_));
}

// A little, so that a full cache does not drop one sample for each that comes.
std::uint64_t Residency::room_at_a_time(std::uint64_t budget_bytes) {
  return std::max(budget_bytes / 32, std::min(budget_bytes / 8, kLeastRoom));
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
    if (pages > 0) policy_->on_insert(id, facts(id, pages));
    if (pages > 0 && !policy_->victim()) newcomers_.push_back(id);  // somebody had it mapped or locked
  } else if (pages > before) {
    policy_->on_insert(id, facts(id, pages));
  } else if (pages == 0 && before > 0) {
    policy_->on_remove(id);
  }
  if (pages < ahead_.get(value(id))) {
    ahead_pages_ -= ahead_.get(value(id)) - pages;
    ahead_.set(value(id), pages);
  }
  samples_ += (pages > 0) - (before > 0);
  total_pages_ = total_pages_ - before + pages;
  high_water_pages_ = std::max(high_water_pages_, total_pages_);
  pages_.set(id, pages);
}

std::vector<SampleId> Residency::choose_victims() {
  const std::lock_guard lock(mutex_);
  std::vector<SampleId> victims;
  if (!is_over()) return victims;
  const std::uint64_t target_pages = (budget_bytes_ - (policy_->victim() ? room_at_a_time(budget_bytes_) : 0)) / kPage;
  while (total_pages_ - dropping_pages_ > target_pages) {
    const auto victim = next_victim();
    if (!victim) break;
    policy_->on_remove(*victim);
    dropping_.set(value(*victim), true);
    dropping_pages_ += pages_.get(*victim);
    victims.push_back(*victim);
  }
  return victims;
}

std::optional<SampleId> Residency::next_victim() {
  if (const auto victim = policy_->victim()) return victim;
  while (!newcomers_.empty()) {
    const SampleId id = newcomers_.front();
    newcomers_.pop_front();
    if (pages_.get(id) > 0 && !dropping_.get(value(id))) return id;
  }
  return std::nullopt;
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
