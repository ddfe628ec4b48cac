// A running mount: all its parts, wired. Construct it (scans or maps the catalogue), mount(), then run()
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

#include "cache/directory_source.h"
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

namespace winnow {

class Daemon {
 public:
  // Throws StartupError. Blocks SIGTERM, SIGINT and SIGHUP for this thread and those it starts.
  explicit Daemon(MountOptions options, ScanProgress& progress);
  ~Daemon();

  void mount();  // returns when the mount answers; throws StartupError, nothing is mounted then
  void run();    // returns when the mount is gone

  bool used_saved_snapshot() const { return used_saved_snapshot_; }
  const Snapshots& snapshots() const { return *snapshots_; }
  const std::string& log_path() const { return log_path_; }

 private:
  void open_snapshot(ScanProgress& progress);
  void start_serving(FileDescriptor device);
  void start_tracking();
  void check_answers() const;
  void widen_readahead() const;

  nlohmann::json control(const nlohmann::json& request);
  nlohmann::json refresh();
  void unmount(UnmountKind kind);
  void tell_kernel(const KernelChanges& changes);
  void keep_house();  // refreshes and audits, until told to stop
  void audit();
  void handle_signal();
  void end_by_force();
  StatusFacts gather() const;

  const MountOptions options_;
  const std::chrono::steady_clock::time_point started_at_ = std::chrono::steady_clock::now();
  std::string log_path_;
  DirectorySource source_;
  StateDir state_;
  std::unique_ptr<Snapshots> snapshots_;
  bool used_saved_snapshot_ = false;
  ScanProgress refresh_progress_;

  std::unique_ptr<WorkerPool> notifications_;
  std::unique_ptr<FuseKernelCache> kernel_;
  std::unique_ptr<PageTier> pages_;
  std::unique_ptr<ReadPath> reads_;
  std::unique_ptr<Filesystem> filesystem_;
  std::unique_ptr<FuseDevice> device_;
  std::unique_ptr<FuseSession> session_;
  mutable std::mutex tracking_mutex_;  // guards the three below, which requests read while they are set up
  std::unique_ptr<AccessTracker> tracker_;
  TrackMode track_in_force_ = TrackMode::kOff;
  std::string track_reason_;
  std::unique_ptr<ControlServer> control_;

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
