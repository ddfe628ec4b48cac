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

struct SurvivalMemory {
  static constexpr std::uint64_t kMagic = 0x726f767275736e57;
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::size_t kServed = 2048;
  static constexpr std::size_t kSuspects = 256;
  static constexpr std::uint32_t kPoisonedAfter = 2;  // crashes

  std::uint64_t magic;
  std::uint32_t version;

  // INIT as the kernel sent it; size 0 until it came. Answered once, for good: libfuse gets a replay.
  std::atomic<std::uint32_t> init_size;
  std::atomic<std::uint32_t> init_answered;
  std::atomic<std::uint32_t> can_resend;  // the kernel offered to (6.9 and later)
  alignas(8) unsigned char init[256];

  std::atomic<std::uint64_t> beats;  // moves with each answer, and once a second
  std::atomic<std::int32_t> worker_pid;
  std::atomic<std::int32_t> holder_pid;
  std::atomic<std::int32_t> standby_pid;  // of a worker that is about to take over; 0 else
  std::atomic<std::uint32_t> announced;   // somebody was told that the mount is there
  std::atomic<HolderCondition> condition;

  // Of the whole mount, for status.
  std::atomic<std::uint64_t> deaths;
  std::atomic<std::uint64_t> crashes;  // of the deaths: by a fault of the worker's own making
  std::atomic<std::uint64_t> hangs;    // of the deaths: by the watchdog
  std::atomic<std::uint64_t> poisoned_answers;
  std::atomic<std::uint64_t> remounts;

  // How a dying worker was hit, as it saw it itself: a signal that somebody sent says nothing of what it served.
  std::atomic<std::uint32_t> fault;        // the signal of a fault, 0 if none
  std::atomic<std::uint32_t> sent_signal;  // the signal that another process sent, 0 if none

  // Requests taken and not answered yet, by their unique number without the mark of a resent one.
  std::atomic<std::uint64_t> served[kServed];
  struct Suspect {
    std::atomic<std::uint64_t> unique;
    std::atomic<std::uint32_t> crashes;
  };
  Suspect suspects[kSuspects];
};

// Bit 63 marks a request the kernel sends again.
inline constexpr std::uint64_t kResentBit = std::uint64_t{1} << 63;

}  // namespace winnow
