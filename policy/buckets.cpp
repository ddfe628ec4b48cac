#include "policy/buckets.h"

#include <limits>

#include "policy/error.h"

namespace winnow {

Buckets::Buckets(Index samples) : flags_(at(samples)), missed_(at(samples)) {}

void Buckets::move_out(Index sample) {
  waiting_count_ += !waiting(sample);
  flags_[at(sample)] = kWaiting;
}

void Buckets::recall(Index sample) {
  waiting_count_ -= waiting(sample);
  flags_[at(sample)] = kUntrained;
  missed_[at(sample)] = 0;
}

void Buckets::miss(Index sample) {
  if (missed_[at(sample)] < std::numeric_limits<std::uint16_t>::max()) ++missed_[at(sample)];
}

std::vector<Index> Buckets::list(bool of_waiting) const {
  std::vector<Index> ids;
  ids.reserve(at(of_waiting ? waiting_count_ : in_process_count()));
  for (Index i = 0; i < samples(); ++i) {
    if (waiting(i) == of_waiting) ids.push_back(i);
  }
  return ids;
}

void Buckets::restore(std::vector<std::uint8_t> flags, std::vector<std::uint16_t> missed) {
  require_length("buckets", flags.size(), flags_.size());
  require_length("missed recalls", missed.size(), missed_.size());
  Index waiting_count = 0;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] > kUntrained) refuse_sample(static_cast<Index>(i), "bucket", "0, 1 or 2", flags[i]);
    waiting_count += flags[i] & kWaiting;
  }
  flags_ = std::move(flags);
  missed_ = std::move(missed);
  waiting_count_ = waiting_count;
}

}  // namespace winnow
