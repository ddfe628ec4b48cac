// What similarity groups are for. RRemove: of a group, only the first to be trained in an epoch is trained.
// RRepeat: a member that is not cached is replaced by one that is. Neither moves samples between buckets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "policy/groups.h"

namespace winnow {

// The epoch's order without those whose group was trained before them.
std::vector<Index> rremove(std::span<const Index> order, const Groups& groups);

class RRepeat {
 public:
  using Cached = std::function<bool(Index)>;

  RRepeat(const Groups& groups, std::int64_t max_repeats);  // keeps a reference to the groups

  // The cached members that could stand for the request, itself alone if it is cached; ascending.
  std::vector<Index> candidates(Index request, const Cached& cached) const;

  // Who is delivered for the request and counted as a substitute: the least used this epoch, then the
  // nearest, then the lowest id. nullopt: a miss, the sample itself must be fetched. A cached request is
  // delivered itself.
  std::optional<Index> deliver(Index request, const Cached& cached);

  void begin_epoch() { uses_.clear(); }

 private:
  std::int64_t uses(Index sample) const;

  const Groups& groups_;
  std::int64_t max_repeats_;
  std::unordered_map<Index, std::int64_t> uses_;  // as a substitute, this epoch
};

}  // namespace winnow
