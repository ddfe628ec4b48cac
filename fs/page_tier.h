// The kernel's page cache as our memory tier: what is in it, pushing bytes in before they are asked for, and
// dropping samples when the budget is passed. Kernel calls run on the notification threads; no call here
// waits, but for audit(). Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "cache/bytes.h"
#include "cache/flight_table.h"
#include "cache/residency.h"
#include "cache/worker_pool.h"
#include "fs/kernel_cache.h"
#include "fs/snapshots.h"
#include "policy/eviction_policy.h"
#include "policy/paged_array.h"

namespace winnow {

struct PageTierCounts {
  std::uint64_t pushed_files = 0;
  std::uint64_t pushed_bytes = 0;
  std::uint64_t skipped_pushes = 0;  // too many bytes waiting already, or the kernel did not know the file
  std::uint64_t dropped_files = 0;
};

class PageTier {
 public:
  // Bytes that may wait for their push. They are in no other budget, and without them a reader only asks
  // again.
  static constexpr std::uint64_t kMaxWaitingBytes = 64 << 20;

  PageTier(KernelCache& kernel, const Snapshots& snapshots, WorkerPool& notifications,
           std::uint64_t budget_bytes, std::unique_ptr<EvictionPolicy> policy, PageCounts& page_counts);

  // Without, nothing is pushed ahead of its first reader: who then reads it would not be seen.
  void push_ahead(bool allowed) { push_ahead_ = allowed; }

  // Tells whether the kernel was told of a file. It knows it a moment later, when whoever listed the folder goes on: until
  // then a push is tried again. Said before anything is pushed.
  void when_told(std::function<bool(NodeId)> was_told) { was_told_ = std::move(was_told); }

  void note_read(const FileRef& file, std::uint64_t bytes);  // the kernel was given these by a READ
  void note_open(NodeId id) { residency_.touch(sample_of(id)); }
  void note_forgotten(NodeId id) { residency_.forget(sample_of(id)); }
  bool was_served(SampleId id) const;               // the kernel was ever given bytes of it
  void assume_all_served() { all_served_ = true; }  // by a process before this one, which left no record

  struct Push {
    FileRef file;
    std::uint64_t offset = 0;  // of `bytes` in the file
    Bytes bytes;
    bool ahead = false;  // nobody has asked for the file yet
    bool near = false;   // but somebody will, and soon: push_ahead() does not matter
    std::function<std::vector<Range>()>
        missing;                 // what the kernel still lacks, asked when it is the push's turn
    std::function<void()> done;  // called in any case, from any thread
  };
  void push(Push push);
  // On the caller's thread: may wait for the kernel, as KernelCache says. expect() was told of the bytes before.
  void push_here(const Push& push);
  void expect(std::uint64_t bytes) { waiting_bytes_ += bytes; }  // for push_here(); they count as waiting
  void expect_no_more(std::uint64_t bytes) { waiting_bytes_ -= bytes; }
  std::uint64_t waiting_bytes() const { return waiting_bytes_; }  // for their push
  // Whether so much more may be pushed ahead of its reader, besides what waits for its push.
  bool has_room_ahead(std::uint64_t bytes) const { return residency_.has_room_ahead(waiting_bytes_ + bytes); }

  // They are wrong. May wait for the kernel, as KernelCache says.
  void discard(SampleId id);
  bool is_coming(SampleId id) const;  // a push of it waits its turn

  void set_importance(SampleId id, double importance) { residency_.set_importance(id, importance); }
  void begin_epoch() { residency_.begin_epoch(); }

  // Checks up to `samples` of the ledger's entries against the kernel. Blocks.
  struct Audit {
    double wrong = 0;            // the share
    std::vector<SampleId> lost;  // less of them is there than was thought
  };
  Audit audit(std::size_t samples);

  const Residency& residency() const { return residency_; }
  PageTierCounts counts() const;

 private:
  bool store(const Push& push);
  std::error_code store_when_known(NodeId id, std::uint64_t offset, std::span<const std::byte> bytes);
  void note_served(SampleId id);
  void note_coming(SampleId id, bool is_coming);
  void trim_soon();
  void trim();
  void drop(const Tree& tree, SampleId id);

  KernelCache& kernel_;
  const Snapshots& snapshots_;
  WorkerPool& notifications_;
  Residency residency_;
  std::function<bool(NodeId)> was_told_;

  mutable std::mutex served_mutex_;  // guards the two below; a leaf lock
  PagedArray<bool> served_;
  std::unordered_multiset<std::uint64_t> coming_;
  std::atomic<bool> all_served_{false};
  std::atomic<bool> push_ahead_{true};

  std::atomic<std::uint64_t> pushed_files_{0};
  std::atomic<std::uint64_t> pushed_bytes_{0};
  std::atomic<std::uint64_t> skipped_pushes_{0};
  std::atomic<std::uint64_t> dropped_files_{0};
  std::atomic<std::uint64_t> waiting_bytes_{0};
  std::atomic<bool> trim_queued_{false};
};

}  // namespace winnow
