#include "fs/ahead_ledger.h"

namespace winnow {

void AheadLedger::add(SampleId id, std::uint64_t bytes, unsigned reader) {
  Waiting waiting = waiting_.get(value(id));
  remove(id);
  waiting.bytes = bytes;
  waiting.readers |= std::uint64_t{1} << reader;
  waiting_.set(value(id), waiting);
  bytes_ += bytes;
  ++files_;
}

bool AheadLedger::remove(SampleId id) {
  const Waiting waiting = waiting_.get(value(id));
  if (waiting.readers == 0) return false;
  waiting_.set(value(id), {});
  bytes_ -= waiting.bytes;
  --files_;
  return true;
}

void AheadLedger::forget(unsigned reader) {
  const std::uint64_t bit = std::uint64_t{1} << reader;
  for (auto at = waiting_.next_set(0); at; at = waiting_.next_set(*at + 1)) {
    Waiting waiting = waiting_.get(*at);
    if ((waiting.readers & bit) == 0) continue;
    waiting.readers &= ~bit;
    if (waiting.readers == 0) {
      remove(SampleId{*at});
    } else {
      waiting_.set(*at, waiting);
    }
  }
}

}  // namespace winnow
