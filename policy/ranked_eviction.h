// Eviction by rank: residents stand in an order and the first one leaves. Two orders: by importance (read
// this epoch first, then the least important, then the least recently used), and Belady's (the farthest next
// use, which only a simulation can know).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/eviction_policy.h"
#include "policy/lazy_heap.h"
#include "policy/paged_array.h"

namespace winnow {

class ImportanceEviction final : public EpochEviction {
 public:
  void on_insert(SampleId id, const CachedFacts& facts) override;
  void on_hit(SampleId id) override;
  void on_remove(SampleId id) override;
  std::optional<SampleId> victim() const override;
  void begin_epoch() override;

 private:
  struct Resident {
    double importance = 0;
    std::uint64_t last_use = 0;  // 0: not a resident
    bool operator==(const Resident&) const = default;
  };
  struct Ranked {
    double importance;
    std::uint64_t last_use;  // another one at each use
    std::uint64_t id;
  };
  struct LeavesLater {
    bool operator()(const Ranked& a, const Ranked& b) const {
      return a.importance != b.importance ? a.importance > b.importance : a.last_use > b.last_use;
    }
  };
  using Order = LazyHeap<Ranked, LeavesLater>;

  void put(SampleId id, double importance, bool read);
  auto counts() const {
    return [this](const Ranked& one) { return residents_.get(one.id).last_use == one.last_use; };
  }

  PagedArray<Resident> residents_;
  std::size_t resident_count_ = 0;
  mutable Order read_;  // this epoch; asking for a victim drops what no longer counts
  mutable Order unread_;
  std::uint64_t clock_ = 0;
};

class Belady final : public EvictionPolicy {
 public:
  // A hit must come with the next use after it: on_insert with new facts, not on_hit alone.
  void on_insert(SampleId id, const CachedFacts& facts) override;
  void on_hit(SampleId) override {}
  void on_remove(SampleId id) override;
  std::optional<SampleId> victim() const override;

 private:
  struct Resident {
    bool here = false;
    std::uint64_t next_use = 0;
    bool operator==(const Resident&) const = default;
  };
  struct Ranked {
    std::uint64_t next_use;
    std::uint64_t id;
  };
  struct LeavesLater {
    bool operator()(const Ranked& a, const Ranked& b) const {
      return a.next_use != b.next_use ? a.next_use < b.next_use : a.id < b.id;
    }
  };

  auto counts() const {
    return [this](const Ranked& one) { return residents_.get(one.id) == Resident{true, one.next_use}; };
  }

  PagedArray<Resident> residents_;
  std::size_t resident_count_ = 0;
  mutable LazyHeap<Ranked, LeavesLater> order_;  // asking for a victim drops what no longer counts
};

// For every access of a trace, the position of the next access to the same sample; kNeverUsed if none.
std::vector<std::uint64_t> next_uses(std::span<const SampleId> trace);

}  // namespace winnow
