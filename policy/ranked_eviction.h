// Eviction by rank: residents stand in an order and the first one leaves. Two orders: by importance (read
// this epoch first, then the least important, then the least recently used), and Belady's (the farthest next
// use, which only a simulation can know).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policy/eviction_policy.h"
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
    std::uint64_t read_in = 0;   // the epoch it was last read in; 0: none
    bool operator==(const Resident&) const = default;
  };
  using Ranked = std::set<std::tuple<double, std::uint64_t, std::uint64_t>>;  // importance, last use, id

  void put(SampleId id, Resident resident);
  Ranked& of(const Resident& resident) { return resident.read_in == epoch_ ? read_ : unread_; }

  PagedArray<Resident> residents_;
  Ranked read_;  // this epoch
  Ranked unread_;
  std::uint64_t epoch_ = 1;
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
  std::unordered_map<std::uint64_t, std::uint64_t> next_use_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_next_use_;  // and id
};

// For every access of a trace, the position of the next access to the same sample; kNeverUsed if none.
std::vector<std::uint64_t> next_uses(std::span<const SampleId> trace);

}  // namespace winnow
