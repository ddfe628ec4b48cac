// Fetch-once: any number of readers of the same bytes cause one fetch. A flight is one fetch of one range of
// one file; whoever asks for a range that a flight covers joins it. A landed flight stays joinable until it
// is retired, so that a reader who comes while its bytes are being pushed to the kernel needs no second
// fetch. Thread-safe. Waiters are called exactly once, without any lock held, from whichever thread lands the
// flight (or at once, if it has landed already).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache/bytes.h"
#include "cache/file_ref.h"
#include "cache/result.h"

namespace winnow {

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t end() const { return offset + size; }
  bool covers(const Range& other) const { return offset <= other.offset && other.end() <= end(); }
};

using BytesWaiter = std::function<void(Result<Bytes>)>;

enum class Brought { kNothing, kFromTier, kFromSource };
using Prefetched = std::function<void(Brought)>;

class Flight {
 public:
  const FileRef file;
  const Range range;
  const bool prefetched;  // nobody had asked for it when it was booked
  const bool is_near;     // but somebody will, and soon

  Flight(FileRef which, Range what, std::chrono::steady_clock::time_point waiting_since)
      : file(std::move(which)), range(what), prefetched(false), is_near(false), waiting_since_(waiting_since) {}
  Flight(FileRef which, Range what, bool near, Prefetched done)
      : file(std::move(which)), range(what), prefetched(true), is_near(near), done_(std::move(done)) {}
  // One that never began, and is let go of by the last who could begin it, has brought nothing.
  ~Flight() { end(Brought::kNothing); }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  // Tells whoever booked it ahead, once. Only for who began it, after it landed.
  void end(Brought brought) {
    if (done_) std::exchange(done_, nullptr)(brought);
  }

 private:
  friend class FlightTable;
  enum class State { kAloft, kLanded, kGone };
  struct Passenger {
    Range asked;
    BytesWaiter waiter;
  };
  Prefetched done_;
  // All guarded by FlightTable::mutex_.
  State state_ = State::kAloft;
  bool begun_ = false;
  // Since the first passenger came or, while there is none, since it began; until then nobody waits.
  std::chrono::steady_clock::time_point waiting_since_ = std::chrono::steady_clock::time_point::max();
  std::vector<Passenger> passengers_;
  std::vector<Range> answered_;
  Bytes bytes_;
};

using FlightPtr = std::shared_ptr<Flight>;

class FlightTable {
 public:
  using Clock = std::chrono::steady_clock;

  // Joins a flight of `file` that covers `asked`; else books one for the range that `if_none` gives, which
  // must cover it. Gives the flight that the caller must see to, now that somebody waits: a new one, or one
  // booked ahead that nobody had boarded and that has not begun.
  FlightPtr board(const FileRef& file, Range asked, const std::function<Range()>& if_none,
                  Clock::time_point now, BytesWaiter waiter);

  // Books a flight for nobody yet; null if one covers the range already (`done` is then not called).
  FlightPtr book(const FileRef& file, Range range, bool near, Prefetched done);

  // Whoever gets true fetches and lands it, nobody else does: it may wait in two queues.
  bool begin(const FlightPtr& flight, Clock::time_point now);
  Clock::time_point waiting_since(const Flight& flight) const;

  // Answers the passengers. A flight that landed well stays joinable until retired; a failed one is gone.
  void land(const FlightPtr& flight, Result<Bytes> bytes);
  void retire(const FlightPtr& flight);

  // Fails every flight still aloft that is waited for since then or longer; gives the number of passengers
  // told. time_point::max() means every one.
  std::size_t expire(Clock::time_point waiting_since, std::error_code error);

  // What of the flight's range no reader has been given.
  std::vector<Range> unanswered(const FlightPtr& flight) const;
  // Whether a reader still waits for other bytes of the file, so that the kernel has pages of it locked.
  bool has_waiting_reader(SampleId id) const;
  std::size_t aloft() const;

 private:
  // With mutex_ held:
  FlightPtr covering(const FileRef& file, Range range) const;
  void remove(const FlightPtr& flight);

  mutable std::mutex mutex_;  // guards all flights; held over `if_none`, never while a waiter runs
  std::unordered_map<std::uint64_t, std::vector<FlightPtr>> flights_;
};

}  // namespace winnow
