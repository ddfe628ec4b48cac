// Notes in the survival memory what this worker serves, and tells of a request that comes again how it fared:
// one that was being served in a crash is a suspect and is served alone; one of two crashes is poisoned.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "fs/survival_memory.h"

namespace winnow {

class RequestNotes {
 public:
  enum class Verdict { kClean, kSuspect, kPoisoned };

  explicit RequestNotes(SurvivalMemory& memory) : memory_(memory) {}

  void begin(std::uint64_t unique);
  void park(std::uint64_t unique);  // no serving thread is at it any more; nothing if it has ended
  void end(std::uint64_t unique);
  Verdict verdict(std::uint64_t unique) const;
  void clear(std::uint64_t unique);  // it was answered after all: a suspect no more

 private:
  std::atomic<std::uint64_t>& place(std::uint64_t plain, std::size_t distance);
  void replace(std::uint64_t unique, std::uint64_t by);

  SurvivalMemory& memory_;
};

}  // namespace winnow
