// Chooses which sample leaves a cache first. Knows ids and facts, never bytes.
// Not thread-safe: the owner calls it under its own lock.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/sample.h"

namespace winnow {

// What an eviction policy may know of a resident sample.
struct CachedFacts {
  std::uint64_t bytes = 0;
  double importance = 1.0;              // in [0, 1], 1 without a score; below 0: no job expects it
  bool read = false;                    // already read this epoch; a hit makes it so
  std::uint64_t next_use = kNeverUsed;  // position in the trace, which only a simulation knows

  static constexpr std::uint64_t kNeverUsed = ~std::uint64_t{0};
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  virtual void on_insert(SampleId id, const CachedFacts& facts) = 0;  // new, or new facts for a known one
  virtual void on_hit(SampleId id) = 0;                               // unknown ids are ignored
  virtual void on_remove(SampleId id) = 0;                            // unknown ids are ignored
  virtual std::optional<SampleId> victim() const = 0;                 // nullopt when empty; does not remove
};

// One that tells samples read this epoch from unread ones: the former leave first.
class EpochEviction : public EvictionPolicy {
 public:
  virtual void begin_epoch() = 0;  // nothing is read yet
};

}  // namespace winnow
