// A served mount: all its parts, wired. Construct it (maps the catalogue), start(), then run()
// until somebody unmounts or signals. SIGTERM and SIGINT unmount, a second one by force.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cache/source.h"
#include "fs/access_recorder.h"
#include "fs/access_tracker.h"
#include "fs/control.h"
#include "fs/filesystem.h"
#include "fs/fuse_kernel_cache.h"
#include "fs/fuse_session.h"
#include "fs/mount_options.h"
#include "fs/mounting.h"
#include "fs/page_tier.h"
#include "fs/read_path.h"
#include "fs/snapshots.h"
#include "fs/state_dir.h"
#include "fs/status.h"
#include "fs/survival_memory.h"
#include "fs/tiers.h"
#include "fs/warm.h"

namespace winnow {

class Daemon {
 public:
  struct Inheritance {
    FileDescriptor device;
    FileDescriptor memory;  // of SurvivalMemory and the ledger
    FileDescriptor lock;    // of the state directory
    bool succeeds = false;  // a worker before this one served the mount
  };
  enum class End {
    kUnmounted,
    kAborted,  // cut off from outside, but still mounted
    kForced,   // by a second signal: threads may hang, and are not to be waited for
  };

  // Maps the snapshot. Throws StartupError. Blocks SIGTERM, SIGINT and SIGHUP for this thread and those it
  // starts.
  Daemon(MountOptions options, Inheritance inheritance, SurvivalMemory& memory);
  ~Daemon();

  void start();  // returns when the mount answers; throws StartupError
  End run();     // returns when there is nothing to serve any more

  bool is_well() const { return !device_->is_stuck(); }  // waits for nobody
  const Snapshots& snapshots() const { return *snapshots_; }
  std::uint64_t names_left_out() const { return total(state_.left_out(snapshots_->tree()->catalogue())); }

 private:
  void start_serving();
  void start_prefetch(PageTier* pages);
  void start_tracking();
  void check_answers() const;
  void widen_readahead() const;

  // daemon_control.cpp: what commands ask for
  nlohmann::json control(const nlohmann::json& request);
  nlohmann::json hint(const nlohmann::json& request);
  nlohmann::json warm(const nlohmann::json& request);
  std::size_t follow_order(const std::string& file);
  std::size_t take_scores(const std::string& file);
  void take_up_hints();
  void forget_ended_order();

  nlohmann::json refresh();
  nlohmann::json invalidate(const nlohmann::json& request);
  nlohmann::json record(const nlohmann::json& request);
  void unmount(UnmountKind kind);
  void tell_kernel(const KernelChanges& changes);
  void tell_kernel_the_rest();
  void keep_house();  // refreshes and audits, until told to stop
  void audit();
  void watch_disk();
  bool handle_signal();
  bool ends_by_force();
  StatusFacts gather() const;
  std::chrono::steady_clock::duration count_shares();

  const MountOptions options_;
  const std::chrono::steady_clock::time_point started_at_ = std::chrono::steady_clock::now();
  Inheritance inheritance_;
  SurvivalMemory& memory_;
  const std::unique_ptr<Source> source_;
  StateDir state_;
  PageCounts page_counts_;
  std::unique_ptr<Snapshots> snapshots_;
  std::string mounted_device_;  // "major:minor" of the mount
  std::mutex refresh_mutex_;  // one refresh at a time, until the kernel knows of it
  std::mutex order_mutex_;    // what prefetch_ was told to follow is what the state directory says
  ScanProgress refresh_progress_;

  std::unique_ptr<WorkerPool> notifications_;
  std::unique_ptr<FuseKernelCache> kernel_;
  std::unique_ptr<PageTier> pages_;
  std::unique_ptr<Tiers> tiers_;
  std::unique_ptr<ReadPath> reads_;
  std::unique_ptr<AccessRecorder> recorder_;
  std::unique_ptr<Filesystem> filesystem_;
  std::unique_ptr<Prefetch> prefetch_;
  std::unique_ptr<Warm> warm_;
  std::unique_ptr<FuseDevice> device_;
  std::unique_ptr<FuseSession> session_;
  mutable std::mutex tracking_mutex_;  // guards the three below, which requests read while they are set up
  std::unique_ptr<AccessTracker> tracker_;
  TrackMode track_in_force_ = TrackMode::kOff;
  std::string track_reason_;
  std::unique_ptr<ControlServer> control_;

  // What the shares depend on: as long as it is the same, so are they, or nearly.
  struct SharesOf {
    const Tree* tree = nullptr;
    std::uint64_t memory_bytes = 0, memory_samples = 0;
    std::uint64_t disk_bytes = 0, disk_writes = 0, disk_samples = 0;
    bool operator==(const SharesOf&) const = default;
  };
  bool disk_in_trouble_ = false;     // the house's: what was last said of the disk
  std::mutex count_mutex_;           // guards shares_of_; held while files are counted, and shares_mutex_ is taken then
  SharesOf shares_of_;
  mutable std::mutex shares_mutex_;  // guards shares_
  TierShares shares_;

  std::atomic<std::uint64_t> refreshes_{0};
  std::atomic<std::uint64_t> refresh_failures_{0};

  FileDescriptor signals_;
  FileDescriptor ended_;  // an eventfd: the kernel closed the connection
  std::thread watcher_;   // waits for that
  int signals_seen_ = 0;

  std::mutex house_mutex_;  // guards house_stop_
  std::condition_variable house_changed_;
  bool house_stop_ = false;
  std::thread house_;
};

}  // namespace winnow
