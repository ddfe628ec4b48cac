// The least recently used sample leaves first. Sixteen bytes a resident sample.
#pragma once

#include "policy/eviction_policy.h"
#include "policy/paged_array.h"

namespace winnow {

class Lru final : public EvictionPolicy {
 public:
  void on_insert(SampleId id, const CachedFacts& facts) override;
  void on_hit(SampleId id) override;
  void on_remove(SampleId id) override;
  std::optional<SampleId> victim() const override;

 private:
  // A list threaded through the ids; id 0 is nobody's, so it serves as the list's two ends.
  struct Links {
    std::uint64_t older = 0;
    std::uint64_t newer = 0;
    bool operator==(const Links&) const = default;
  };

  bool contains(std::uint64_t id) const;
  void append(std::uint64_t id);
  void unlink(std::uint64_t id);

  PagedArray<Links> links_;
  std::uint64_t oldest_ = 0;
  std::uint64_t newest_ = 0;
};

}  // namespace winnow
