// Eviction by rank: residents stand in an order and the first one leaves. Two orders: by importance (read
// this epoch first, then the least important, then the least recently used), and Belady's (the farthest next
// use, which only a simulation can know).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policy/eviction_policy.h"

namespace winnow {

// Residents in ascending order of a key; a key is unique because the id ends it.
template <typename Key>
class RankedResidents {
 public:
  void put(std::uint64_t id, const Key& key) {
    remove(id);
    keys_.emplace(id, key);
    order_.emplace(key, id);
  }
  void remove(std::uint64_t id) {
    const auto found = keys_.find(id);
    if (found == keys_.end()) return;
    order_.erase({found->second, id});
    keys_.erase(found);
  }
  const Key* find(std::uint64_t id) const {
    const auto found = keys_.find(id);
    return found == keys_.end() ? nullptr : &found->second;
  }
  std::optional<SampleId> first() const {
    if (order_.empty()) return std::nullopt;
    return SampleId{order_.begin()->second};
  }
  const std::unordered_map<std::uint64_t, Key>& keys() const { return keys_; }

 private:
  std::unordered_map<std::uint64_t, Key> keys_;
  std::set<std::pair<Key, std::uint64_t>> order_;
};

class ImportanceEviction final : public EpochEviction {
 public:
  void on_insert(SampleId id, const CachedFacts& facts) override;
  void on_hit(SampleId id) override;
  void on_remove(SampleId id) override { residents_.remove(value(id)); }
  std::optional<SampleId> victim() const override { return residents_.first(); }
  void begin_epoch() override;

 private:
  struct Key {
    bool unread;
    double importance;
    std::uint64_t last_use;
    auto operator<=>(const Key&) const = default;
  };
  RankedResidents<Key> residents_;
  std::uint64_t clock_ = 0;
};

class Belady final : public EvictionPolicy {
 public:
  // A hit must come with the next use after it: on_insert with new facts, not on_hit alone.
  void on_insert(SampleId id, const CachedFacts& facts) override;
  void on_hit(SampleId) override {}
  void on_remove(SampleId id) override { residents_.remove(value(id)); }
  std::optional<SampleId> victim() const override { return residents_.first(); }

 private:
  RankedResidents<std::uint64_t> residents_;  // by nearness, so that the farthest is first
};

// For every access of a trace, the position of the next access to the same sample; kNeverUsed if none.
std::vector<std::uint64_t> next_uses(std::span<const SampleId> trace);

}  // namespace winnow
