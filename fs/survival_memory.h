// What a worker leaves for its successor, in memory that the holder keeps: the kernel's INIT, what is being
// served, which requests were being served when a worker crashed, and signs of life. Mapped by holder and
// worker; plain data and lock-free atomics only, since the holder has nothing but libc. A new layout is a new
// kVersion: `winnow upgrade` compares it.
#pragma once

#include <atomic>
#include <cstdint>

namespace winnow {

enum class HolderCondition : std::uint32_t {
  kServing = 0,
  kRestarting = 1,
  kGivenUp = 2,  // too many deaths: the holder answers EIO until told to restart
};

// Between two holders: whoever moves it on from kYielded has the mount.
enum class Handover : std::uint32_t {
  kNone = 0,
  kYielded = 1,  // the old holder has ended its worker
  kTaken = 2,    // the new one's serves
};

struct SurvivalMemory {
  static constexpr std::uint64_t kMagic = 0x726f767275736e57;
  static constexpr std::uint32_t kVersion = 2;
  static constexpr std::size_t kServed = 2048;
  static constexpr std::size_t kSuspects = 256;
  static constexpr std::uint32_t kPoisonedAfter = 2;  // crashes

  std::uint64_t magic;
  std::uint32_t version;

  // INIT as the kernel sent it, and our reply; sizes 0 until they were made. The kernel negotiates once: later workers
  // replay it to libfuse, and whether the reply reached the kernel shows in whether INIT is sent again.
  std::atomic<std::uint32_t> init_size;
  std::atomic<std::uint32_t> init_reply_size;
  std::atomic<std::uint32_t> can_resend;  // the kernel offered to (6.9 and later)
  alignas(8) unsigned char init[256];
  alignas(8) unsigned char init_reply[256];

  std::atomic<std::uint64_t> beats;  // moves once a second, while no serving thread is stuck
  std::atomic<std::int32_t> worker_pid;
  std::atomic<std::int32_t> holder_pid;
  std::atomic<std::int32_t> standby_pid;  // of a worker that is about to take over; 0 else
  std::atomic<std::uint32_t> announced;   // somebody was told that the mount is there
  std::atomic<HolderCondition> condition;
  std::atomic<Handover> handover;
  char device[32];                        // "major:minor" of the mount
  std::atomic<std::uint32_t> remounting;  // the old mount is given up, and the new one is not there yet

  // Of the whole mount, for status.
  std::atomic<std::uint64_t> deaths;
  std::atomic<std::uint64_t> crashes;  // of the deaths: by a fault of the worker's own making
  std::atomic<std::uint64_t> hangs;    // of the deaths: by the watchdog
  std::atomic<std::uint64_t> poisoned_answers;
  std::atomic<std::uint64_t> remounts;

  // How a dying worker was hit, as it saw it itself: a signal that somebody sent says nothing of what it served.
  std::atomic<std::uint32_t> fault;        // the signal of a fault, 0 if none
  std::atomic<std::uint32_t> sent_signal;  // the signal that another process sent, 0 if none
  std::atomic<std::int32_t> hit_pid;       // whose

  // Requests taken and not answered yet, by their unique number without the mark of a resent one, and with kParkedBit
  // once no serving thread is at them any more: they wait for a fetch.
  std::atomic<std::uint64_t> served[kServed];
  struct Suspect {
    std::atomic<std::uint64_t> unique;
    std::atomic<std::uint32_t> crashes;
  };
  Suspect suspects[kSuspects];
};

// Bit 63 marks a request the kernel sends again; 62 is our own mark.
inline constexpr std::uint64_t kResentBit = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kParkedBit = std::uint64_t{1} << 62;

// After a worker's death: what it served may have caused it. A hang is only laid at what a serving thread was at.
inline void suspect_served(SurvivalMemory& memory, bool hung) {
  for (auto& slot : memory.served) {
    const std::uint64_t noted = slot;
    const std::uint64_t unique = noted & ~kParkedBit;
    if (noted == 0 || (hung && noted != unique)) continue;
    SurvivalMemory::Suspect* place = nullptr;
    for (auto& suspect : memory.suspects) {
      if (suspect.unique == unique) {
        place = &suspect;
        break;
      }
      if (place == nullptr && suspect.unique == 0) place = &suspect;
    }
    if (place == nullptr) return;
    place->unique = unique;
    ++place->crashes;
  }
}

}  // namespace winnow
