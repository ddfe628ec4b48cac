#include "policy/admission.h"

#include <algorithm>

namespace winnow {
namespace {

class AdmitAll final : public AdmissionPolicy {
 public:
  bool admits(const CachedFacts&, std::span<const CachedFacts>) const override { return true; }
};

class AdmitWhatFits final : public AdmissionPolicy {
 public:
  bool admits(const CachedFacts&, std::span<const CachedFacts> leaving) const override {
    return leaving.empty();
  }
};

class AdmitTheMoreImportant final : public AdmissionPolicy {
 public:
  bool admits(const CachedFacts& newcomer, std::span<const CachedFacts> leaving) const override {
    // What was read this epoch leaves for what was not.
    return std::all_of(leaving.begin(), leaving.end(), [&](const CachedFacts& one) {
      return (one.read && !newcomer.read) || newcomer.importance > one.importance;
    });
  }
};

class AdmitTheSoonerUsed final : public AdmissionPolicy {
 public:
  bool admits(const CachedFacts& newcomer, std::span<const CachedFacts> leaving) const override {
    return std::all_of(leaving.begin(), leaving.end(),
                       [&](const CachedFacts& one) { return newcomer.next_use < one.next_use; });
  }
};

}  // namespace

std::unique_ptr<AdmissionPolicy> admit_all() { return std::make_unique<AdmitAll>(); }
std::unique_ptr<AdmissionPolicy> admit_what_fits() { return std::make_unique<AdmitWhatFits>(); }
std::unique_ptr<AdmissionPolicy> admit_the_more_important() {
  return std::make_unique<AdmitTheMoreImportant>();
}
std::unique_ptr<AdmissionPolicy> admit_the_sooner_used() { return std::make_unique<AdmitTheSoonerUsed>(); }

}  // namespace winnow
