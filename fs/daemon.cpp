#include "fs/daemon.h"

#include <malloc.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "fs/make_source.h"
#include "fs/mount_table.h"
#include "fs/survival.h"
#include "fs/test_hooks.h"
#include "fs/version.h"
#include "policy/registry.h"

namespace winnow {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kRetryUnmountFor = 2s;
constexpr unsigned kNeverAtTheDisk = 2;  // of the serving threads

FileDescriptor watch_signals() {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&watched, number);
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return FileDescriptor(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Many threads hold short-lived buffers of file bytes: few arenas and an eager return keep resident memory
// small.
void tame_malloc() {
  mallopt(M_ARENA_MAX, 4);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

}  // namespace

Daemon::Daemon(MountOptions options, Inheritance inheritance, SurvivalMemory& memory)
    : options_(std::move(options)),
      inheritance_(std::move(inheritance)),
      memory_(memory),
      source_(make_source(options_)),
      state_(options_.state_dir, std::move(inheritance_.lock)),
      page_counts_(inheritance_.memory.get(), kLedgerOffset),
      signals_(watch_signals()),
      ended_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  tame_malloc();
  snapshots_ = std::make_unique<Snapshots>(*source_, state_, options_.follow_symlinks, state_.open_tree());
}

void Daemon::start() {
  const auto mounted = mount_at(options_.mountpoint);
  if (!inheritance_.succeeds) {
    std::snprintf(memory_.device, sizeof memory_.device, "%s", mounted ? mounted->device.c_str() : "");
    snapshots_->kernel_was_told();  // there is nothing yet that it could know
  }
  mounted_device_ = memory_.device;
  start_serving();
  // A mount that was detached is served on for those who have files open; what lies at its path is another's.
  if (mounted && mounted->device == mounted_device_) {
    check_answers();
    kernel_->pages().attach(options_.mountpoint);
    widen_readahead();
    start_tracking();
  }
  recorder_->set_opens_seen(track_in_force_ != TrackMode::kOff);
  recorder_->resume();
  control_ = std::make_unique<ControlServer>(state_.socket_path(),
                                             [this](const auto& request) { return control(request); });
  house_ = std::thread([this] { keep_house(); });
}

void Daemon::start_serving() {
  const bool answer_opens = options_.track == TrackMode::kOpen ||
                            (options_.track == TrackMode::kAuto && !AccessTracker::is_permitted());
  const int device = inheritance_.device.get();
  const unsigned threads = std::clamp(std::thread::hardware_concurrency() + 4, 6u, FuseDevice::kMaxThreads);
  // Of their own: a notification can wait for a page that a READ has locked.
  notifications_ =
      std::make_unique<WorkerPool>(WorkerPool::Options{.name = "winnow-notify", .max_threads = 2});
  kernel_ = std::make_unique<FuseKernelCache>(device);
  pages_ = std::make_unique<PageTier>(*kernel_, *snapshots_, *notifications_, options_.memory_bytes,
                                      make_eviction(options_.policy, ""), page_counts_);
  if (inheritance_.succeeds) pages_->assume_all_served();
  PageTier* const pages = options_.page_cache ? pages_.get() : nullptr;
  tiers_ = std::make_unique<Tiers>(options_, source_->identity(), *snapshots_, memory_.announced == 0);
  if (!tiers_->disk_refusal().empty()) spdlog::error("{}; reads go on without it", tiers_->disk_refusal());
  reads_ = std::make_unique<ReadPath>(*source_, tiers_->near(), *snapshots_, *kernel_, *notifications_, pages,
                                      FetchOptions{.source_timeout = options_.source_timeout,
                                                   .caller_may_wait = [this] { return device_->let_go_to_wait(); },
                                                   .waiting_callers = threads - kNeverAtTheDisk});
  recorder_ = std::make_unique<AccessRecorder>(*snapshots_, state_.recording_path());
  filesystem_ = std::make_unique<Filesystem>(options_.ownership, *snapshots_, *reads_, pages);
  start_prefetch(pages);
  filesystem_->generated().add("status.json", [this] { return to_json(gather()); });
  filesystem_->generated().add("metrics", [this] { return to_metrics(gather()); });
  device_ = std::make_unique<FuseDevice>(std::move(inheritance_.device), *filesystem_, options_.page_cache,
                                         memory_);
  session_ = std::make_unique<FuseSession>(SessionOptions{.answer_opens = answer_opens,
                                                          .use_page_cache = options_.page_cache,
                                                          .succeeds = inheritance_.succeeds,
                                                          .threads = threads},
                                           *filesystem_, *device_);
  if (answer_opens) track_in_force_ = TrackMode::kOpen;
  session_->start();
  watcher_ = std::thread([this] {
    session_->wait();
    eventfd_write(ended_.get(), 1);
  });
}

void Daemon::start_prefetch(PageTier* pages) {
  // A kernel that was given names by an earlier worker knows them still.
  tiers_->attach(pages, *reads_, [this](NodeId id) { return inheritance_.succeeds || filesystem_->kernel_knows(id); });
  const bool tracked = options_.track != TrackMode::kOff;
  prefetch_ = std::make_unique<Prefetch>(
      Prefetch::Options{.at_once = options_.prefetch, .window_bytes = tiers_->window_bytes(), .tracked = tracked},
      *snapshots_, *tiers_);
  pages_->push_ahead(tracked || tiers_->disk() == nullptr);
  pages_->when_told([this](NodeId id) { return filesystem_->kernel_knows(id); });
  warm_ = std::make_unique<Warm>(
      Warm::Parts{*snapshots_, *tiers_, *reads_, *kernel_, *source_, options_.mountpoint});
  filesystem_->on_describe([this](SampleId id, std::uint64_t size) {
    return Filesystem::BelowPages{.on_disk = tiers_->on_disk(id, size), .importance = tiers_->importance(id)};
  });
  filesystem_->on_access(
      [this](NodeId id, int pid) {
        const auto tree = snapshots_->tree();
        const auto file = tree->find(id);
        if (!file || !is_regular(file->stat)) return;
        const bool in_memory = tiers_->note_open(sample_of(id), file->stat.version.size);
        prefetch_->on_open(*tree, *file, pid, in_memory);
        recorder_->note_open(id, pid);
      },
      [this](NodeId id) {
        prefetch_->on_miss(id);
        recorder_->note_read(id);
      });
}

void Daemon::check_answers() const {
  struct stat found {};
  if (stat(options_.mountpoint.c_str(), &found) == 0) return;
  throw StartupError("the new mount on " + options_.mountpoint + " does not answer: " + errno_text(errno));
}

// The kernel reads ahead 128 KiB unless told otherwise, which makes two requests of a 160 KB file.
void Daemon::widen_readahead() const {
  const auto mounted = mount_at(options_.mountpoint);
  if (!mounted) return;
  std::ofstream("/sys/class/bdi/" + mounted->device + "/read_ahead_kb") << 1024;
}

void Daemon::start_tracking() {
  if (track_in_force_ == TrackMode::kOpen || options_.track == TrackMode::kOff) return;
  std::string why;
  auto tracker = AccessTracker::start(
      options_.mountpoint, [this](NodeId id, int pid) { filesystem_->note_open(id, pid); },
      kernel_->recent_opens(), why);
  if (!tracker && options_.track == TrackMode::kFanotify) {
    throw StartupError("--track fanotify is not possible here (" + why +
                       "); it needs CAP_SYS_ADMIN, or use --track open");
  }
  if (!tracker) spdlog::warn("opens are not tracked ({}); mount with --track open to have them counted", why);
  const std::lock_guard lock(tracking_mutex_);
  if (tracker) track_in_force_ = TrackMode::kFanotify;
  tracker_ = std::move(tracker);
  track_reason_ = why;
}

Daemon::End Daemon::run() {
  pollfd watched[] = {{ended_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
  while (watched[0].revents == 0) {
    if (poll(watched, 2, -1) < 0 && errno != EINTR) break;
    if (watched[1].revents != 0 && !handle_signal()) return End::kForced;
  }
  // The kernel ends an unmounted connection and an aborted one alike; the mount table tells them apart.
  const auto mounted = mount_at(options_.mountpoint);
  if (mounted && mounted->device == mounted_device_) return End::kAborted;
  unlink(state_.recording_path().c_str());  // a recording ends with its mount
  return End::kUnmounted;
}

// False if the mount ended by force.
bool Daemon::handle_signal() {
  signalfd_siginfo info{};
  if (read(signals_.get(), &info, sizeof info) != sizeof info || info.ssi_signo == SIGHUP) return true;
  if (++signals_seen_ > 1) return !ends_by_force();
  try {
    unmount(UnmountKind::kPlain);
  } catch (const StartupError& error) {
    // Gone for whoever comes now, and for good when the last reader leaves.
    spdlog::warn("{}; detached, a second signal ends it by force", error.what());
    winnow::unmount(options_.mountpoint, UnmountKind::kLazy);
  }
  return true;
}

// Readers get an error. True if it has to end without waiting for anybody: the holder ends too, and with it what
// still waits.
bool Daemon::ends_by_force() {
  spdlog::warn("a second signal: {} ends by force", options_.mountpoint);
  winnow::unmount(options_.mountpoint, UnmountKind::kForce);
  pollfd ended{ended_.get(), POLLIN, 0};
  return poll(&ended, 1, 1000) <= 0;
}

void Daemon::unmount(UnmountKind kind) {
  const auto give_up = Clock::now() + kRetryUnmountFor;
  int error = winnow::unmount(options_.mountpoint, kind);
  // Events of fanotify and our own looks at pages hold the mount for moments.
  while (error == EBUSY && Clock::now() < give_up) {
    std::this_thread::sleep_for(20ms);
    error = winnow::unmount(options_.mountpoint, kind);
  }
  if (error == EBUSY) {
    throw StartupError(options_.mountpoint + " is in use; end its readers (fuser -vm " + options_.mountpoint +
                       " names them) or run winnow unmount --lazy");
  }
  if (error != 0) throw StartupError("unmounting " + options_.mountpoint + " failed: " + errno_text(error));
}

nlohmann::json Daemon::refresh() {
  try {
    refresh_progress_.entries = 0;
    const std::lock_guard lock(refresh_mutex_);
    const KernelChanges changes = snapshots_->refresh(refresh_progress_);
    die_if_wanted("WINNOW_TEST_DIE_UNTOLD");
    tell_kernel(changes);
    tiers_->adopt();
    ++refreshes_;
    const auto tree = snapshots_->tree();
    const auto& header = tree->catalogue().header();
    spdlog::info("refreshed: {} added, {} removed, {} changed, {} files", changes.added, changes.removed,
                 changes.changed, header.files);
    return {{"added", changes.added},
            {"removed", changes.removed},
            {"changed", changes.changed},
            {"files", header.files}};
  } catch (const StartupError& error) {
    ++refresh_failures_;
    spdlog::warn("refresh failed: {}", error.what());
    throw;
  }
}

// On this thread, which serves nobody, so that a refresh has reached the kernel when it is reported done.
void Daemon::tell_kernel(const KernelChanges& changes) {
  for (const auto& [folder, name] : changes.names) invalidate_name_in_views(*kernel_, folder, name);
  for (const NodeId folder : changes.folders) invalidate_folder_in_views(*kernel_, folder);
  snapshots_->kernel_was_told();
}

// What the worker before us noted in a new snapshot and did not live to tell.
void Daemon::tell_kernel_the_rest() {
  const std::lock_guard lock(refresh_mutex_);
  try {
    if (const auto changes = snapshots_->untold()) tell_kernel(*changes);
  } catch (const StartupError& error) {
    spdlog::error("what the last refresh changed cannot be told to the kernel: {}; refresh again", error.what());
  }
}

Daemon::~Daemon() {
  {
    const std::lock_guard lock(house_mutex_);
    house_stop_ = true;
  }
  house_changed_.notify_all();
  refresh_progress_.cancelled = true;
  if (warm_) warm_->cancel();
  if (house_.joinable()) house_.join();
  control_.reset();
  {
    const std::lock_guard lock(tracking_mutex_);
    tracker_.reset();
  }
  if (prefetch_) prefetch_->stop();
  if (kernel_) kernel_->pages().detach();
  if (reads_) reads_->stop();
  if (notifications_) notifications_->stop();
  if (tiers_) tiers_->stop();
  if (watcher_.joinable()) watcher_.join();
}

StatusFacts Daemon::gather() const {
  const auto tree = snapshots_->tree();
  const auto& header = tree->catalogue().header();
  StatusFacts facts;
  facts.version = kVersion;
  facts.source = options_.source;
  facts.mountpoint = options_.mountpoint;
  facts.state_dir = state_.path();
  facts.control_socket = state_.socket_path();
  facts.worker_pid = getpid();
  facts.holder_pid = memory_.holder_pid;
  facts.deaths = memory_.deaths;
  facts.crashes = memory_.crashes;
  facts.hangs = memory_.hangs;
  facts.remounts = memory_.remounts;
  facts.poisoned_answers = memory_.poisoned_answers;
  facts.can_resend = memory_.can_resend != 0;
  facts.uptime_seconds = std::chrono::duration<double>(Clock::now() - started_at_).count();
  facts.snapshot_taken_at = header.taken_at;
  facts.files = header.files;
  facts.folders = header.folders;
  facts.symlinks = header.symlinks;
  facts.total_bytes = header.total_bytes;
  facts.amendments = tree->amendment_count();
  facts.left_out = state_.left_out(tree->catalogue());
  facts.names_scanned = refresh_progress_.entries;
  facts.refreshes = refreshes_;
  facts.refresh_failures = refresh_failures_;
  facts.memory_budget_bytes = options_.memory_bytes;
  facts.resident_bytes = pages_->residency().total_bytes();
  facts.resident_files = pages_->residency().samples();
  facts.resident_high_water_bytes = pages_->residency().high_water_bytes();
  facts.pages = pages_->counts();
  facts.policy = options_.policy;
  facts.disk_dir = options_.disk_dir;
  if (tiers_->disk() != nullptr) facts.disk = tiers_->disk()->counts();
  {
    const std::lock_guard lock(shares_mutex_);
    facts.shares = shares_;
  }
  facts.prefetch = prefetch_->counts();
  facts.warm = warm_->progress();
  {
    const std::lock_guard lock(tracking_mutex_);
    facts.track = to_string(track_in_force_);
    facts.track_reason = track_reason_;
    facts.lost_events = tracker_ ? tracker_->overflows() : 0;
  }
  facts.opens = filesystem_->opens();
  facts.recording = recorder_->facts();
  facts.reads = reads_->counts();
  facts.fetches = reads_->fetch_counts();
  facts.requests = device_->requests().by_kind();
  facts.queued_notifications = notifications_->waiting();
  facts.daemon_resident_bytes = own_resident_bytes();
  facts.daemon_high_water_bytes = own_high_water_bytes();
  facts.worker_bound_bytes = worker_bound_bytes(tree->catalogue().bytes(), header.files, tiers_->disk() != nullptr);
  facts.daemon_cpu_seconds = own_cpu_seconds();
  return facts;
}

}  // namespace winnow
