#include "cache/fetcher.h"

#include <algorithm>
#include <cstring>

#include "cache/patient_read.h"

namespace winnow {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kDeadlineTick{250};
constexpr std::uint64_t kMostHere = 1 << 20;  // bytes that a caller may wait for

Bytes joined(const Bytes& front, const Bytes& rest) {
  const std::shared_ptr<std::byte[]> all(new std::byte[front.size() + rest.size()]);
  std::memcpy(all.get(), front.span().data(), front.size());
  std::memcpy(all.get() + front.size(), rest.span().data(), rest.size());
  return Bytes(all, front.size() + rest.size());
}

}  // namespace

Fetcher::Fetcher(Source& source, ByteTier& tier, FetchOptions options, Landed landed)
    : source_(source),
      tier_(tier),
      options_(options),
      landed_(std::move(landed)),
      window_(options.whole_file_bytes, tier.piece_bytes()),
      pool_({.name = "winnow-fetch",
             .max_threads = options.threads,
             .max_weight = options.in_flight_bytes,
             .background_threads = std::max(1u, options.threads / 4 * 3),
             .background_weight = options.in_flight_bytes / 2}) {
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
  if (flight && !fetch_here(flight)) submit(WorkerPool::Urgency::kDemand, flight);
}

// What the tier has is read where it was asked for: two changes of thread would cost more than the read. If too many
// wait already (a disk may hang), it goes to the pool; so it does if the tier lost it meanwhile.
bool Fetcher::fetch_here(const FlightPtr& flight) {
  const auto [offset, size] = flight->range;
  if (!options_.caller_may_wait || size > kMostHere || tier_.held_from(flight->file, offset, size) < size) return false;
  const bool may_wait = waiting_callers_.fetch_add(1) < options_.waiting_callers && options_.caller_may_wait();
  std::optional<Bytes> near;
  if (may_wait) near = tier_.read(flight->file, offset, size);
  waiting_callers_.fetch_sub(1);
  if (!near || !flights_.begin(flight, Clock::now())) return false;
  land(flight, std::move(*near));
  flight->end(Brought::kFromTier);
  return true;
}

bool Fetcher::prefetch(const FileRef& file, Range range, Prefetched done, bool near) {
  if (range.size > options_.whole_file_bytes) return false;
  const FlightPtr flight = flights_.book(file, range, near, std::move(done));
  if (flight) submit(WorkerPool::Urgency::kBackground, flight);
  return flight != nullptr;
}

void Fetcher::bring_from_tier(std::vector<FileRef> files, const Landed& landed) {
  std::vector<FlightPtr> flights;
  for (FileRef& file : files) {
    const FlightPtr flight = flights_.book(file, {0, file.version.size}, true, {});
    if (!flight || !flights_.begin(flight, Clock::now())) continue;
    if (&file != &files[flights.size()]) files[flights.size()] = std::move(file);
    flights.push_back(flight);
  }
  files.resize(flights.size());
  std::vector<std::optional<Bytes>> bytes = tier_.read_each(files);
  for (std::size_t i = 0; i < flights.size(); ++i) {
    if (bytes[i]) {
      flights_.land(flights[i], *bytes[i]);
      landed(flights[i], *bytes[i]);
      bytes[i].reset();
    } else if (!pool_.submit(WorkerPool::Urgency::kDemand, files[i].version.size,
                             [this, flight = flights[i]] { fetch(flight); })) {  // lost, and perhaps boarded meanwhile
      flights_.land(flights[i], errno_error(EIO));
    }
  }
}

void Fetcher::submit(WorkerPool::Urgency urgency, const FlightPtr& flight) {
  const bool taken = pool_.submit(urgency, flight->range.size, [this, flight] {
    // One that was booked ahead and boarded since waits twice: once for nobody, once for its reader.
    if (flights_.begin(flight, Clock::now())) flight->end(fetch(flight));
  });
  if (!taken) flights_.land(flight, errno_error(EIO));
}

Brought Fetcher::fetch(const FlightPtr& flight) {
  auto near = tier_.read(flight->file, flight->range.offset, flight->range.size);
  const Result<Bytes> bytes = near ? Result<Bytes>(std::move(*near)) : complete(*flight);
  land(flight, bytes);
  if (!bytes) return Brought::kNothing;
  return near ? Brought::kFromTier : Brought::kFromSource;
}

void Fetcher::land(const FlightPtr& flight, const Result<Bytes>& bytes) {
  flights_.land(flight, bytes);
  if (bytes && landed_) {
    landed_(flight, bytes.value());
  } else if (bytes) {
    flights_.retire(flight);
  }
}

// A window may begin with what the one before it brought: the kernel's requests do not end where pieces do. (Small
// files come whole, so that the source can check them.)
Result<Bytes> Fetcher::complete(const Flight& flight) {
  const auto [offset, size] = flight.range;
  const bool is_window = flight.file.version.size > options_.whole_file_bytes;
  const std::uint64_t held = is_window ? tier_.held_from(flight.file, offset, size) : 0;
  const auto front = held > 0 && held < size ? tier_.read(flight.file, offset, held) : std::nullopt;
  if (!front) return read_from_source(flight, flight.range);
  Result<Bytes> rest = read_from_source(flight, {offset + held, size - held});
  if (!rest) return rest;
  return joined(*front, rest.value());
}

Result<Bytes> Fetcher::read_from_source(const Flight& flight, Range range) {
  Result<Bytes> bytes = read_patiently(source_, flight.file, range, [&](std::chrono::milliseconds length) {
    const auto waited = Clock::now() - flights_.waiting_since(flight);
    const bool too_late = options_.source_timeout.count() > 0 && waited + length >= options_.source_timeout;
    if (too_late || !pause(length)) return false;
    retries_.fetch_add(1, std::memory_order_relaxed);
    return true;
  });
  if (!bytes) {
    failures_.fetch_add(1, std::memory_order_relaxed);
    return bytes;
  }
  fetches_.fetch_add(1, std::memory_order_relaxed);
  if (flight.prefetched) prefetches_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(bytes.value().size(), std::memory_order_relaxed);
  if (!flight.prefetched) tier_.touch(flight.file.id);  // it comes in as one that is being read
  tier_.write(flight.file, range.offset, bytes.value());
  return bytes;
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
