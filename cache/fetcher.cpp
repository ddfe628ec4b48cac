#include "cache/fetcher.h"

#include <algorithm>

#include "cache/back_off.h"

namespace winnow {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kDeadlineTick{250};

}  // namespace

Fetcher::Fetcher(Source& source, ByteTier& tier, FetchOptions options, Landed landed)
    : source_(source),
      tier_(tier),
      options_(options),
      landed_(std::move(landed)),
      window_(options.whole_file_bytes),
      pool_({.name = "winnow-fetch", .max_threads = options.threads, .max_weight = options.in_flight_bytes}) {
  if (options_.source_timeout.count() > 0) watcher_ = std::thread([this] { watch_deadlines(); });
}

Fetcher::~Fetcher() { stop(); }

void Fetcher::stop() {
  {
    const std::lock_guard lock(stop_mutex_);
    stopping_ = true;
  }
  stop_changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  flights_.expire(Clock::time_point::max(), errno_error(EIO));
  pool_.stop();
  flights_.expire(Clock::time_point::max(), errno_error(EIO));  // what came in between and never began
}

void Fetcher::read(const FileRef& file, Range asked, BytesWaiter waiter) {
  const std::uint64_t file_size = file.version.size;
  const auto wanted = [&] {
    return file_size <= options_.whole_file_bytes ? Range{0, file_size}
                                                  : window_.next(file.id, asked, file_size);
  };
  const FlightPtr flight = flights_.board(file, asked, wanted, Clock::now(), std::move(waiter));
  if (!flight) return;
  const bool taken =
      pool_.submit(WorkerPool::Urgency::kDemand, flight->range.size, [this, flight] { fetch(flight); });
  if (!taken) flights_.land(flight, errno_error(EIO));
}

bool Fetcher::prefetch(const FileRef& file, Prefetched done) {
  const Range whole{0, file.version.size};
  const FlightPtr flight = flights_.book(file, whole, Clock::now());
  if (!flight) return false;
  const bool taken = pool_.submit(WorkerPool::Urgency::kBackground, whole.size,
                                  [this, flight, done = std::move(done)] { done(fetch(flight)); });
  if (!taken) flights_.land(flight, errno_error(EIO));
  return taken;
}

Fetcher::Brought Fetcher::fetch(const FlightPtr& flight) {
  auto near = tier_.read(flight->file, flight->range.offset, flight->range.size);
  const Result<Bytes> bytes = near ? Result<Bytes>(std::move(*near)) : read_from_source(*flight);
  flights_.land(flight, bytes);
  if (!bytes) return Brought::kNothing;
  if (landed_) {
    landed_(flight, bytes.value());
  } else {
    flights_.retire(flight);
  }
  return near ? Brought::kFromTier : Brought::kFromSource;
}

Result<Bytes> Fetcher::read_from_source(const Flight& flight) {
  Result<Bytes> bytes = read_with_retries(flight);
  if (!bytes) {
    failures_.fetch_add(1, std::memory_order_relaxed);
    return bytes;
  }
  fetches_.fetch_add(1, std::memory_order_relaxed);
  if (flight.prefetched) prefetches_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(bytes.value().size(), std::memory_order_relaxed);
  if (!flight.prefetched) tier_.touch(flight.file.id);  // it comes in as one that is being read
  tier_.write(flight.file, flight.range.offset, bytes.value());
  return bytes;
}

Result<Bytes> Fetcher::read_with_retries(const Flight& flight) {
  BackOff back_off;
  while (true) {
    Result<Bytes> bytes =
        source_.read(flight.file.path, flight.file.version, flight.range.offset, flight.range.size);
    if (bytes || !is_passing(bytes.error())) return bytes;
    const auto length = back_off.next();
    const auto waited = Clock::now() - flight.booked_at;
    if (options_.source_timeout.count() > 0 && waited + length >= options_.source_timeout)
      return errno_error(EIO);
    if (!pause(length)) return errno_error(EIO);
    retries_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool Fetcher::pause(std::chrono::milliseconds length) {
  std::unique_lock lock(stop_mutex_);
  return !stop_changed_.wait_for(lock, length, [this] { return stopping_; });
}

void Fetcher::watch_deadlines() {
  while (pause(kDeadlineTick)) {
    timeouts_.fetch_add(flights_.expire(Clock::now() - options_.source_timeout, errno_error(EIO)),
                        std::memory_order_relaxed);
  }
}

FetchCounts Fetcher::counts() const {
  return {.fetches = fetches_,
          .bytes = bytes_,
          .prefetches = prefetches_,
          .retries = retries_,
          .failures = failures_,
          .timeouts = timeouts_,
          .in_flight = flights_.aloft()};
}

}  // namespace winnow
