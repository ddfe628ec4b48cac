// Nobody leaves: what does not fit is not admitted. With a uniform shuffle this reaches what no policy
// exceeds.
#pragma once

#include "policy/eviction_policy.h"

namespace winnow {

class NoEvict final : public EvictionPolicy {
 public:
  void on_insert(SampleId, const CachedFacts&) override {}
  void on_hit(SampleId) override {}
  void on_remove(SampleId) override {}
  std::optional<SampleId> victim() const override { return std::nullopt; }
};

}  // namespace winnow
