#include "policy/redundancy.h"

#include <tuple>

namespace winnow {

std::vector<Index> rremove(std::span<const Index> order, const Groups& groups) {
  std::vector<bool> trained(static_cast<std::size_t>(groups.samples()));
  std::vector<Index> kept;
  for (const Index sample : order) {
    require_index("order", sample, groups.samples());
    const auto group = static_cast<std::size_t>(groups.representative(sample));
    if (trained[group]) continue;
    trained[group] = true;
    kept.push_back(sample);
  }
  return kept;
}

RRepeat::RRepeat(const Groups& groups, std::int64_t max_repeats)
    : groups_(groups), max_repeats_(max_repeats) {
  require("max_repeats", static_cast<double>(max_repeats), kAtLeastOne);
}

std::vector<Index> RRepeat::candidates(Index request, const Cached& cached) const {
  require_index("request", request, groups_.samples());
  if (cached(request)) return {request};
  std::vector<Index> found;
  for (const Index member : groups_.members(request)) {
    if (cached(member)) found.push_back(member);
  }
  return found;
}

std::optional<Index> RRepeat::deliver(Index request, const Cached& cached) {
  const std::vector<Index> found = candidates(request, cached);
  if (found.size() == 1 && found.front() == request) return request;
  std::optional<std::tuple<std::int64_t, int, Index>> best;
  for (const Index member : found) {
    if (uses(member) >= max_repeats_) continue;
    const std::tuple rank(uses(member), groups_.distance(request, member), member);
    if (!best || rank < *best) best = rank;
  }
  if (!best) return std::nullopt;
  const Index chosen = std::get<2>(*best);
  ++uses_[chosen];
  return chosen;
}

std::int64_t RRepeat::uses(Index sample) const {
  const auto found = uses_.find(sample);
  return found == uses_.end() ? 0 : found->second;
}

}  // namespace winnow
