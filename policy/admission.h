// Whether a newcomer is let into a cache that is full, judged against those who would have to leave for it.
// Asked before anything is evicted, again as more of those who would leave become known (so a longer list
// never turns a no into a yes); a newcomer that fits is always admitted.
#pragma once

#include <memory>
#include <span>

#include "policy/eviction_policy.h"

namespace winnow {

class AdmissionPolicy {
 public:
  virtual ~AdmissionPolicy() = default;
  virtual bool admits(const CachedFacts& newcomer, std::span<const CachedFacts> leaving) const = 0;
};

std::unique_ptr<AdmissionPolicy> admit_all();
std::unique_ptr<AdmissionPolicy> admit_what_fits();           // nobody leaves for anyone
std::unique_ptr<AdmissionPolicy> admit_the_more_important();  // than each that would leave, or unread
std::unique_ptr<AdmissionPolicy> admit_the_sooner_used();     // Belady's

}  // namespace winnow
