// The life of a READ: fetched once for all who ask, answered from whichever thread brought the bytes, the
// rest of the file pushed behind. A file that changed behind the snapshot is noticed here: its readers get
// ESTALE after the kernel was told, so that the next open finds the new file. Thread-safe; no call waits.
#pragma once

#include <atomic>
#include <cstdint>

#include "cache/failure_log.h"
#include "cache/fetcher.h"
#include "cache/source.h"
#include "cache/worker_pool.h"
#include "fs/kernel_cache.h"
#include "fs/page_tier.h"
#include "fs/snapshots.h"

namespace winnow {

struct ReadCounts {
  std::uint64_t misses = 0;  // files a reader had to wait for
  std::uint64_t stale = 0;   // files found changed behind the snapshot
};

class ReadPath {
 public:
  // Without `pages`, nothing is pushed or accounted: for mounts that keep the page cache out of it.
  ReadPath(Source& source, ByteTier& tier, Snapshots& snapshots, KernelCache& kernel,
           WorkerPool& notifications, PageTier* pages, FetchOptions options);

  // The reply is called once, perhaps before this returns.
  void read(const Tree& tree, const Node& file, std::uint64_t offset, std::size_t size, BytesWaiter reply);

  // For a node that is no more; `names` are those that led to it.
  void refuse_as_stale(std::vector<Name> names, BytesWaiter reply);

  // Brings a part of a file to the tiers before it is read; as Fetcher::prefetch().
  bool prefetch(const FileRef& file, Range range, Fetcher::Prefetched done, bool near = false) {
    return fetcher_.prefetch(file, range, std::move(done), near);
  }
  // Brings files that the tier holds to the page cache, which expects them; gives the bytes of those it pushed. Blocks
  // for both.
  std::uint64_t bring_near(std::vector<FileRef> files);
  std::uint64_t most_at_once() const { return fetcher_.most_at_once(); }

  // Somebody other than a reader met another version of the file, or none: the next open finds what is there now.
  // Blocks for the source.
  void note_changed(const FileRef& file);

  FetchCounts fetch_counts() const { return fetcher_.counts(); }
  ReadCounts counts() const { return {.misses = misses_, .stale = stale_}; }
  void stop() { fetcher_.stop(); }

 private:
  void fetch(const FileRef& file, Range asked, int tries_left, BytesWaiter reply);
  Snapshots::Verdict look_again(const FileRef& file);
  void examine(const FileRef& file, Range asked, int tries_left, BytesWaiter reply);
  void push_rest(const FlightPtr& flight, const Bytes& bytes);
  PageTier::Push rest_of(const FlightPtr& flight, const Bytes& bytes);
  void note_failed(const FileRef& file, const std::error_code& error);

  ByteTier& tier_;
  Snapshots& snapshots_;
  KernelCache& kernel_;
  WorkerPool& notifications_;
  PageTier* const pages_;
  FailureLog failures_;
  std::atomic<std::uint64_t> misses_{0};
  std::atomic<std::uint64_t> stale_{0};
  Fetcher fetcher_;
};

}  // namespace winnow
