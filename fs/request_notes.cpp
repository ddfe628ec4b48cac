#include "fs/request_notes.h"

namespace winnow {

namespace {

std::uint64_t without_mark(std::uint64_t unique) { return unique & ~kResentBit; }

}  // namespace

void RequestNotes::begin(std::uint64_t unique) {
  const std::uint64_t wanted = without_mark(unique);
  // The kernel counts unique numbers up by two: neighbours get neighbouring places.
  const std::size_t first = (wanted / 2) % SurvivalMemory::kServed;
  for (std::size_t i = 0; i < SurvivalMemory::kServed; ++i) {
    std::uint64_t free = 0;
    auto& slot = memory_.served[(first + i) % SurvivalMemory::kServed];
    if (slot.compare_exchange_strong(free, wanted, std::memory_order_relaxed)) return;
  }
  // Full: a crash of this one cannot be laid at its door.
}

void RequestNotes::end(std::uint64_t unique) {
  const std::uint64_t wanted = without_mark(unique);
  const std::size_t first = (wanted / 2) % SurvivalMemory::kServed;
  for (std::size_t i = 0; i < SurvivalMemory::kServed; ++i) {
    std::uint64_t expected = wanted;
    auto& slot = memory_.served[(first + i) % SurvivalMemory::kServed];
    if (slot.compare_exchange_strong(expected, 0, std::memory_order_relaxed)) break;
    if (i >= 64) break;  // it was noted near its place or not at all
  }
  memory_.beats.fetch_add(1, std::memory_order_relaxed);
}

RequestNotes::Verdict RequestNotes::verdict(std::uint64_t unique) const {
  if ((unique & kResentBit) == 0) return Verdict::kClean;
  for (const auto& suspect : memory_.suspects) {
    if (suspect.unique.load(std::memory_order_relaxed) != without_mark(unique)) continue;
    return suspect.crashes >= SurvivalMemory::kPoisonedAfter ? Verdict::kPoisoned : Verdict::kSuspect;
  }
  return Verdict::kClean;
}

void RequestNotes::clear(std::uint64_t unique) {
  for (auto& suspect : memory_.suspects) {
    if (suspect.unique.load(std::memory_order_relaxed) != without_mark(unique)) continue;
    suspect.crashes = 0;
    suspect.unique = 0;
  }
}

}  // namespace winnow
