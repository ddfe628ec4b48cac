// Which bucket every sample is in: in-process (trained this epoch) or waiting. Three bytes a sample.
// A sample is always in exactly one of the two.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/sample.h"

namespace winnow {

class Buckets {
 public:
  explicit Buckets(Index samples = 0);

  Index samples() const { return static_cast<Index>(flags_.size()); }
  Index in_process_count() const { return samples() - waiting_count_; }
  Index waiting_count() const { return waiting_count_; }
  bool waiting(Index sample) const { return (flags_[at(sample)] & kWaiting) != 0; }
  bool may_leave(Index sample) const {
    return flags_[at(sample)] == 0;
  }  // in-process, trained since its recall
  std::uint16_t missed(Index sample) const { return missed_[at(sample)]; }

  void mark_trained(Index sample) { flags_[at(sample)] &= static_cast<std::uint8_t>(~kUntrained); }
  void move_out(Index sample);
  void recall(Index sample);  // returns to in-process; cannot leave again before it was trained
  void miss(Index sample);    // not drawn in a recall

  std::vector<Index> in_process() const { return list(false); }
  std::vector<Index> waiting() const { return list(true); }

  // The columns, to save and restore. Restoring checks that they hold nothing else than buckets.
  const std::vector<std::uint8_t>& flags() const { return flags_; }
  const std::vector<std::uint16_t>& missed() const { return missed_; }
  void restore(std::vector<std::uint8_t> flags, std::vector<std::uint16_t> missed);

 private:
  static constexpr std::uint8_t kWaiting = 1;
  static constexpr std::uint8_t kUntrained = 2;  // recalled, not trained since
  static std::size_t at(Index sample) { return static_cast<std::size_t>(sample); }
  std::vector<Index> list(bool of_waiting) const;

  std::vector<std::uint8_t> flags_;
  std::vector<std::uint16_t> missed_;
  Index waiting_count_ = 0;
};

}  // namespace winnow
