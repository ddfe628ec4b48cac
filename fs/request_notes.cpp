#include "fs/request_notes.h"

namespace winnow {

namespace {

// How far from its place a request is noted. Beyond, a crash of it cannot be laid at its door.
constexpr std::size_t kNear = 64;

std::uint64_t without_mark(std::uint64_t unique) { return unique & ~kResentBit; }

}  // namespace

// The kernel counts unique numbers up by two: neighbours get neighbouring places.
std::atomic<std::uint64_t>& RequestNotes::place(std::uint64_t plain, std::size_t distance) {
  return memory_.served[(plain / 2 + distance) % SurvivalMemory::kServed];
}

void RequestNotes::begin(std::uint64_t unique) {
  const std::uint64_t plain = without_mark(unique);
  for (std::size_t i = 0; i < kNear; ++i) {
    std::uint64_t free = 0;
    if (place(plain, i).compare_exchange_strong(free, plain, std::memory_order_relaxed)) return;
  }
}

void RequestNotes::replace(std::uint64_t unique, std::uint64_t by) {
  const std::uint64_t plain = without_mark(unique);
  for (std::size_t i = 0; i < kNear; ++i) {
    auto& slot = place(plain, i);
    std::uint64_t noted = slot.load(std::memory_order_relaxed);
    if ((noted & ~kParkedBit) != plain) continue;
    if (slot.compare_exchange_strong(noted, by, std::memory_order_relaxed)) return;
  }
}

void RequestNotes::park(std::uint64_t unique) { replace(unique, without_mark(unique) | kParkedBit); }

void RequestNotes::end(std::uint64_t unique) { replace(unique, 0); }

RequestNotes::Verdict RequestNotes::verdict(std::uint64_t unique) const {
  if ((unique & kResentBit) == 0) return Verdict::kClean;
  for (const auto& suspect : memory_.suspects) {
    if (suspect.unique.load(std::memory_order_relaxed) != without_mark(unique)) continue;
    return suspect.crashes >= SurvivalMemory::kPoisonedAfter ? Verdict::kPoisoned : Verdict::kSuspect;
  }
  return Verdict::kClean;
}

void RequestNotes::clear(std::uint64_t unique) {
  if ((unique & kResentBit) == 0) return;
  for (auto& suspect : memory_.suspects) {
    if (suspect.unique.load(std::memory_order_relaxed) != without_mark(unique)) continue;
    suspect.crashes = 0;
    suspect.unique = 0;
  }
}

}  // namespace winnow
