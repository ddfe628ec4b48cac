#include "policy/ranked_eviction.h"

namespace winnow {

void ImportanceEviction::put(SampleId id, Resident resident) {
  on_remove(id);
  resident.last_use = ++clock_;
  residents_.set(value(id), resident);
  of(resident).emplace(resident.importance, resident.last_use, value(id));
}

void ImportanceEviction::on_insert(SampleId id, const CachedFacts& facts) {
  put(id, {.importance = facts.importance, .read_in = facts.read ? epoch_ : 0});
}

void ImportanceEviction::on_hit(SampleId id) {
  const Resident resident = residents_.get(value(id));
  if (resident.last_use != 0) put(id, {.importance = resident.importance, .read_in = epoch_});
}

void ImportanceEviction::on_remove(SampleId id) {
  const Resident resident = residents_.get(value(id));
  if (resident.last_use == 0) return;
  of(resident).erase({resident.importance, resident.last_use, value(id)});
  residents_.set(value(id), {});
}

std::optional<SampleId> ImportanceEviction::victim() const {
  const Ranked& first = read_.empty() ? unread_ : read_;
  if (first.empty()) return std::nullopt;
  return SampleId{std::get<2>(*first.begin())};
}

// All are unread now. The smaller set moves over: at the end of an epoch nearly everything was read.
void ImportanceEviction::begin_epoch() {
  ++epoch_;
  if (unread_.size() < read_.size()) std::swap(unread_, read_);
  unread_.merge(read_);
}

void Belady::on_insert(SampleId id, const CachedFacts& facts) {
  on_remove(id);
  next_use_[value(id)] = facts.next_use;
  by_next_use_.emplace(facts.next_use, value(id));
}

void Belady::on_remove(SampleId id) {
  const auto found = next_use_.find(value(id));
  if (found == next_use_.end()) return;
  by_next_use_.erase({found->second, value(id)});
  next_use_.erase(found);
}

std::optional<SampleId> Belady::victim() const {
  if (by_next_use_.empty()) return std::nullopt;
  return SampleId{by_next_use_.rbegin()->second};
}

std::vector<std::uint64_t> next_uses(std::span<const SampleId> trace) {
  std::vector<std::uint64_t> next(trace.size());
  std::unordered_map<std::uint64_t, std::uint64_t> seen;
  for (std::size_t i = trace.size(); i-- > 0;) {
    const auto [known, fresh] = seen.try_emplace(value(trace[i]), CachedFacts::kNeverUsed);
    next[i] = known->second;
    known->second = i;
  }
  return next;
}

}  // namespace winnow
