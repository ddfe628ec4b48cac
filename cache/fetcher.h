// Brings bytes from the tier beside us or from the source: once for however many readers, whole files up to a size and
// windows above it, with bounded memory and threads. A passing failure of the source is tried again, with growing pauses,
// until `source_timeout`; readers then get EIO. What came from the source is offered to the tier. Thread-safe; no call
// blocks, but for read() where its caller may wait for the tier.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "cache/byte_tier.h"
#include "cache/flight_table.h"
#include "cache/read_window.h"
#include "cache/source.h"
#include "cache/worker_pool.h"

namespace winnow {

struct FetchOptions {
  std::uint64_t whole_file_bytes = 8 << 20;
  std::uint64_t in_flight_bytes = 256 << 20;
  unsigned threads = 128;  // of these and of the bytes in flight, a part is kept for what readers wait for
  std::chrono::milliseconds source_timeout{60'000};  // zero: wait for ever
  // Asked by read() of its caller's thread: whether it may wait for the tier. Empty: none may, and all is read in the pool.
  std::function<bool()> caller_may_wait;
  unsigned waiting_callers = 4;  // at once; a disk may hang, and the callers must not all hang with it
};

struct FetchCounts {
  std::uint64_t fetches = 0;  // from the source
  std::uint64_t bytes = 0;
  std::uint64_t prefetches = 0;  // of the fetches: begun for nobody
  std::uint64_t retries = 0;
  std::uint64_t failures = 0;  // fetches that ended in an error, stale ones included
  std::uint64_t timeouts = 0;
  std::size_t in_flight = 0;
};

class Fetcher {
 public:
  // Called on a fetch thread after a flight's readers were answered. Whoever takes the flight calls retire()
  // when its bytes are no longer needed; if `landed` is empty the fetcher does so itself.
  using Landed = std::function<void(const FlightPtr&, const Bytes&)>;

  Fetcher(Source& source, ByteTier& tier, FetchOptions options, Landed landed);
  ~Fetcher();

  // `asked` lies within the file. The waiter is called once, perhaps before this returns.
  void read(const FileRef& file, Range asked, BytesWaiter waiter);

  // Brings a range of a file before anybody asks, after whatever somebody did ask for; whoever asks meanwhile
  // boards it, and it then goes as if they had asked first. `done` is called once, from any thread, perhaps before
  // this returns, unless this gives false: it is being fetched already, or is more than `whole_file_bytes`.
  using Brought = winnow::Brought;
  using Prefetched = winnow::Prefetched;
  bool prefetch(const FileRef& file, Range range, Prefetched done, bool near = false);  // `near`: as Flight::is_near
  // The same for several files that the tier holds, all together and on the caller's thread: blocks for the tier. What is
  // being fetched already is left alone. `landed` as above, called for each.
  void bring_from_tier(std::vector<FileRef> files, const Landed& landed);
  std::uint64_t most_at_once() const { return options_.whole_file_bytes; }

  void retire(const FlightPtr& flight) { flights_.retire(flight); }
  std::vector<Range> unanswered(const FlightPtr& flight) const { return flights_.unanswered(flight); }
  bool has_waiting_reader(SampleId id) const { return flights_.has_waiting_reader(id); }
  FetchCounts counts() const;
  void stop();  // readers still waiting get EIO

 private:
  bool fetch_here(const FlightPtr& flight);
  void submit(WorkerPool::Urgency urgency, const FlightPtr& flight);
  Brought fetch(const FlightPtr& flight);
  void land(const FlightPtr& flight, const Result<Bytes>& bytes);
  Result<Bytes> complete(const Flight& flight);
  Result<Bytes> read_from_source(const Flight& flight, Range range);
  bool pause(std::chrono::milliseconds length);  // false if stopping
  void watch_deadlines();

  Source& source_;
  ByteTier& tier_;
  const FetchOptions options_;
  const Landed landed_;
  FlightTable flights_;
  ReadWindow window_;
  std::atomic<unsigned> waiting_callers_{0};

  std::atomic<std::uint64_t> fetches_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> prefetches_{0};
  std::atomic<std::uint64_t> retries_{0};
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::uint64_t> timeouts_{0};

  std::mutex stop_mutex_;  // guards stopping_
  std::condition_variable stop_changed_;
  bool stopping_ = false;
  WorkerPool pool_;
  std::thread watcher_;
};

}  // namespace winnow
