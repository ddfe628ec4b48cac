// Replays a trace against one cache of a given size under a registered policy, and counts what would have
// been hits. A read is exactly one of: a hit (the very sample was in the cache), substituted (another was
// given for it, which is never a hit) or fetched. Pure: no clock, no threads; several simulations may share a
// trace at the same time.
//
// What a trace can tell of the substitution contract is followed (policy/substitution.h). It tells nothing of
// similarity: with SubstituteFrom::group a whole label counts as one group, so the count is an upper bound.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "policy/access_trace.h"
#include "policy/substitution.h"

namespace winnow {

struct SimulatedCache {
  std::string policy;      // of the registry
  std::string parameters;  // "name=value ..."
  std::uint64_t bytes = 0;
  std::optional<SubstitutionOptions> substitution;
};

struct SimulationCounts {
  std::uint64_t hits = 0;
  std::uint64_t substituted = 0;
  std::uint64_t fetched = 0;
  std::uint64_t fetched_bytes = 0;
  std::uint64_t high_water_bytes = 0;  // the most the cache held
  bool operator==(const SimulationCounts&) const = default;
};

// `next` is next_uses(trace.reads). `progress`, if given, is called now and then with the reads done since it
// was called last; it may throw to end the simulation. Refuses a policy that is none for caches.
SimulationCounts simulate(const AccessTrace& trace, std::span<const std::uint64_t> next,
                          const SimulatedCache& cache,
                          const std::function<void(std::uint64_t)>& progress = nullptr);

}  // namespace winnow
