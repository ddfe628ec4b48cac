#include "policy/ranked_eviction.h"

namespace winnow {

void ImportanceEviction::on_insert(SampleId id, const CachedFacts& facts) {
  residents_.put(value(id), {!facts.read, facts.importance, ++clock_});
}

void ImportanceEviction::on_hit(SampleId id) {
  const Key* key = residents_.find(value(id));
  if (key == nullptr) return;
  residents_.put(value(id), {false, key->importance, ++clock_});
}

void ImportanceEviction::begin_epoch() {
  RankedResidents<Key> unread;
  for (const auto& [id, key] : residents_.keys()) unread.put(id, {true, key.importance, key.last_use});
  residents_ = std::move(unread);
}

void Belady::on_insert(SampleId id, const CachedFacts& facts) {
  residents_.put(value(id), CachedFacts::kNeverUsed - facts.next_use);
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
