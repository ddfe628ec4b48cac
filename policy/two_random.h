// Of two different residents drawn at random, the less recently used leaves. Samples read this epoch are
// drawn from first. The choice stands until something changes. Needs no order over the residents, only a
// clock.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/eviction_policy.h"
#include "policy/paged_array.h"
#include "policy/random.h"

namespace winnow {

class TwoRandom final : public EpochEviction {
 public:
  explicit TwoRandom(std::uint64_t seed);
  void on_insert(SampleId id, const CachedFacts& facts) override;
  void on_hit(SampleId id) override;
  void on_remove(SampleId id) override;
  std::optional<SampleId> victim() const override;
  void begin_epoch() override;

 private:
  struct Place {
    Index read_in = 0;  // the epoch it was last read in, or none
    std::size_t slot = 0;
    std::uint64_t last_use = 0;  // 0: not a resident
    bool operator==(const Place&) const = default;
  };

  void add(SampleId id, bool read);
  void take_out(const Place& place);
  void move(SampleId id, std::size_t slot);
  SampleId choose(const std::vector<SampleId>& residents) const;
  std::vector<SampleId>& list(Index read_in) { return read_in == epoch_ ? read_ : unread_; }

  std::uint64_t seed_;
  Index epoch_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<SampleId> read_;
  std::vector<SampleId> unread_;
  PagedArray<Place> places_;
  mutable Random random_;
  mutable std::optional<SampleId> chosen_;
};

}  // namespace winnow
