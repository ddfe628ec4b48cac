#include "policy/ranked_eviction.h"

namespace winnow {

void ImportanceEviction::put(SampleId id, double importance, bool read) {
  if (residents_.get(value(id)).last_use == 0) ++resident_count_;
  const Resident resident{.importance = importance, .last_use = ++clock_};
  residents_.set(value(id), resident);
  (read ? read_ : unread_).push({importance, resident.last_use, value(id)}, resident_count_, counts());
}

void ImportanceEviction::on_insert(SampleId id, const CachedFacts& facts) {
  put(id, facts.importance, facts.read);
}

void ImportanceEviction::on_hit(SampleId id) {
  const Resident resident = residents_.get(value(id));
  if (resident.last_use != 0) put(id, resident.importance, true);
}

void ImportanceEviction::on_remove(SampleId id) {
  if (residents_.get(value(id)).last_use == 0) return;
  residents_.set(value(id), {});
  --resident_count_;
}

std::optional<SampleId> ImportanceEviction::victim() const {
  const Ranked* first = read_.first(counts());
  if (first == nullptr) first = unread_.first(counts());
  if (first == nullptr) return std::nullopt;
  return SampleId{first->id};
}

void ImportanceEviction::begin_epoch() { unread_.merge(read_, counts()); }

void Belady::on_insert(SampleId id, const CachedFacts& facts) {
  if (!residents_.get(value(id)).here) ++resident_count_;
  residents_.set(value(id), {true, facts.next_use});
  order_.push({facts.next_use, value(id)}, resident_count_, counts());
}

void Belady::on_remove(SampleId id) {
  if (!residents_.get(value(id)).here) return;
  residents_.set(value(id), {});
  --resident_count_;
}

std::optional<SampleId> Belady::victim() const {
  const Ranked* first = order_.first(counts());
  if (first == nullptr) return std::nullopt;
  return SampleId{first->id};
}

std::vector<std::uint64_t> next_uses(std::span<const SampleId> trace) {
  std::vector<std::uint64_t> next(trace.size());
  PagedArray<std::uint64_t> next_use;  // one more than the position: 0 is none
  for (std::size_t i = trace.size(); i-- > 0;) {
    next[i] = next_use.get(value(trace[i])) - 1;  // of none: kNeverUsed
    next_use.set(value(trace[i]), i + 1);
  }
  return next;
}

}  // namespace winnow
