// The tiers of a mount taken together: the page cache and, if there is one, the disk. What they hold, which samples
// matter, when an epoch begins, and putting samples there ahead of their readers. Thread-safe; no call waits, but for
// opening and adopt().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "cache/disk/disk_tier.h"
#include "cache/worker_pool.h"
#include "fs/ahead_store.h"
#include "fs/lookup_counts.h"
#include "fs/mount_options.h"
#include "fs/page_tier.h"
#include "fs/read_path.h"
#include "fs/snapshots.h"

namespace winnow {

// How much of the data set is where; a sample in both tiers counts for the page cache and for the disk.
struct TierShares {
  std::uint64_t memory_files = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_files = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t nowhere_files = 0;
  std::uint64_t nowhere_bytes = 0;
};

class Tiers final : public AheadStore {
 public:
  // Opens the disk tier. If it cannot be, a new mount is refused (StartupError); one that was there before goes on
  // without it, and disk_refusal() says why. `io`: how the disk is read and written; empty: as is best.
  Tiers(const MountOptions& options, const std::string& source_identity, const Snapshots& snapshots, bool is_new,
        std::unique_ptr<BlockIo> io = nullptr);

  const std::string& disk_refusal() const { return disk_refusal_; }

  ByteTier& near() { return disk_ ? static_cast<ByteTier&>(*disk_) : none_; }
  DiskTier* disk() { return disk_.get(); }  // null if there is none
  PageTier* pages() { return pages_; }      // null if there is none
  // Once they are there, and before anything else is asked. `pages` may be null.
  void attach(PageTier* pages, ReadPath& reads, std::function<bool(NodeId)> kernel_knows);

  bool note_open(SampleId id, std::uint64_t size);  // a reader opened it; true if it finds all of it in memory
  void stop();  // nothing more is brought near; once readers wait for nothing any more
  void adopt();  // after start and after every refresh; until the first one, nothing is put there ahead
  void set_importance(SampleId id, double importance);
  std::uint64_t window_bytes() const;  // what may wait to be read, as room_for() counts
  bool has_room(std::uint64_t bytes) const;  // for what comes before its reader, if it is kept until then
  bool has_free_room(const DiskCounts& counts, std::uint64_t bytes) const;  // on disk, for more than what is queued
  TierShares shares() const;           // looks at every file

  bool holds(SampleId id, std::uint64_t size) const override;
  bool has_taken(const FileRef& file) const override;
  std::uint64_t room_for(std::uint64_t file_bytes) const override;
  bool has_room_ahead(std::uint64_t bytes) const override;
  bool has_room_in_order(std::uint64_t ahead, std::uint64_t bytes) const override;
  bool can_take(NodeId id) const override;
  double importance(SampleId id) const override;
  void begin_epoch() override;
  void foresee(SampleId id, Prospect prospect) override;
  bool fetch(const FileRef& file, bool near, Fetcher::Prefetched done) override {
    return reads_->prefetch(file, {0, file.version.size}, std::move(done), near);
  }
  void follow_order(bool is_followed) override;
  bool can_come_near(NodeId id) const override { return kernel_knows_ && kernel_knows_(id); }
  bool is_near(SampleId id, std::uint64_t size) const override { return in_memory(id, size); }
  bool has_room_near(std::uint64_t bytes) const override;
  void bring_near(std::vector<FileRef> held, std::function<void()> done) override;
  std::uint64_t waiting_bytes() const;  // fetched, and still to be written or pushed

  bool in_memory(SampleId id, std::uint64_t size) const;
  bool on_disk(SampleId id, std::uint64_t size) const;

 private:
  struct Importance {
    double value = 1.0;
    bool operator==(const Importance&) const = default;
  };

  bool can_queue(const DiskCounts& counts, std::uint64_t bytes) const;
  bool keeps_unread() const;  // whatever the order of reads
  void rank(SampleId id, double importance);

  const Snapshots& snapshots_;
  const std::uint64_t memory_bytes_;
  const bool by_epoch_;       // the policy lets read samples go before unread ones
  const bool oldest_leaves_;  // it lets the least recently used go, read or not
  std::string disk_refusal_;
  NoTier none_;
  std::atomic<bool> adopted_{false};
  std::unique_ptr<DiskTier> disk_;
  PageTier* pages_ = nullptr;
  ReadPath* reads_ = nullptr;
  std::function<bool(NodeId)> kernel_knows_;
  mutable std::mutex mutex_;  // guards the two below; a leaf lock
  PagedArray<Importance> importance_;
  PagedArray<bool> nobodys_;  // no job expects it
  // Reads the disk, and pushes: may wait for both, so these threads do nothing else.
  WorkerPool nearing_{{.name = "winnow-near", .max_threads = 8}};
};

}  // namespace winnow
