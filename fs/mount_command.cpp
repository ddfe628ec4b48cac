#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <ctime>
#include <iostream>
#include <mutex>
#include <thread>

#include "fs/access_tracker.h"
#include "fs/commands.h"
#include "fs/holder_lookup.h"
#include "fs/make_source.h"
#include "fs/mount_options.h"
#include "fs/mount_table.h"
#include "fs/mounting.h"
#include "fs/option_check.h"
#include "fs/snapshots.h"
#include "fs/state_dir.h"
#include "fs/survival.h"
#include "fs/units.h"

namespace winnow {

namespace {

using namespace std::chrono_literals;

std::atomic<bool>* scan_cancelled = nullptr;  // for the signal handler

// Shows on a terminal how far a scan has come, from its second second on; lets SIGINT and SIGTERM stop it.
class ScanReport {
 public:
  explicit ScanReport(ScanProgress& progress) : progress_(progress) {
    scan_cancelled = &progress.cancelled;
    for (const int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { *scan_cancelled = true; });
    thread_ = std::thread([this] { run(); });
  }
  ~ScanReport() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
    if (shown_) std::cerr << "\r\033[K" << std::flush;
    for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_DFL);
  }

 private:
  void run() {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    std::unique_lock lock(mutex_);
    const auto began = std::chrono::steady_clock::now();
    while (!changed_.wait_for(lock, 500ms, [this] { return done_; })) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
      if (!terminal || passed < 1s) continue;
      const auto entries = progress_.entries.load();
      std::cerr << "\rscanning: " << entries << " names, "
                << static_cast<std::uint64_t>(entries / passed.count()) << " a second\033[K" << std::flush;
      shown_ = true;
    }
  }

  ScanProgress& progress_;
  std::mutex mutex_;  // guards done_
  std::condition_variable changed_;
  bool done_ = false;
  bool shown_ = false;
  std::thread thread_;
};

// All that must be there before a holder can begin: the snapshot, the mount, and the memory that outlives
// workers.
struct Prepared {
  explicit Prepared(const MountOptions& options) : state(options.state_dir) {}
  StateDir state;
  FileDescriptor device;
  FileDescriptor memory;
};

bool has_fitting_snapshot(const StateDir& state, const Source& source, bool follow_symlinks) {
  if (!state.has_catalogue()) return false;
  const auto tree = state.open_tree();
  state.check_source(*tree, source.identity());
  return (tree->catalogue().header().follows_symlinks != 0) == follow_symlinks;
}

void take_first_snapshot(Source& source, const StateDir& state, bool follow_symlinks) {
  ScanProgress progress;
  const ScanReport report(progress);
  const auto previous = state.has_catalogue() ? state.open_tree() : nullptr;
  take_snapshot(source, state, follow_symlinks, previous.get(), progress);
}

// What a holder and worker that were killed together have left.
void clear_dead_mount(const std::string& path) {
  const std::string mountpoint = resolve_mountpoint(path);
  const auto mounted = mount_at(mountpoint);
  if (!mounted || mounted->type != "fuse.winnow" || !is_abandoned(mountpoint)) return;
  unmount(mountpoint, UnmountKind::kForce);
}

std::unique_ptr<Prepared> prepare(MountOptions& options) {
  if (options.track == TrackMode::kFanotify && !AccessTracker::is_permitted()) {
    throw StartupError("--track fanotify is not possible here; it needs CAP_SYS_ADMIN, or use --track open");
  }
  auto prepared = std::make_unique<Prepared>(options);
  unlink(prepared->state.recording_path().c_str());  // of a mount that was cut off
  const auto source = make_reachable_source(options);
  options.used_saved_snapshot = has_fitting_snapshot(prepared->state, *source, options.follow_symlinks);
  if (!options.used_saved_snapshot) take_first_snapshot(*source, prepared->state, options.follow_symlinks);
  save(options, prepared->state.options_path());
  prepared->memory = make_survival_memory();
  holder_program();  // is it there?
  prepared->device = mount_fuse({options.source, options.mountpoint, options.allow_other});
  return prepared;
}

// This process goes on as the holder.
[[noreturn]] void become_holder(const MountOptions& options, Prepared& prepared, int ready) {
  std::vector<std::string> words =
      holder_words(options, prepared.device.get(), prepared.memory.get(), prepared.state.lock_fd());
  words.push_back("ready=" + std::to_string(ready));
  for (const int fd : {prepared.device.get(), prepared.memory.get(), prepared.state.lock_fd(), ready}) {
    if (fd >= 0) fcntl(fd, F_SETFD, 0);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  const int error = errno;
  unmount(options.mountpoint, UnmountKind::kLazy);
  throw StartupError(words[0] + " cannot be run: " + errno_text(error));
}

void close_terminal() {
  const FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
}

// In the child. Whoever fails, this or the first worker, says so to the parent: '-' and a sentence.
[[noreturn]] void run_in_background(MountOptions& options, FileDescriptor to_parent) {
  try {
    const auto prepared = prepare(options);
    setsid();
    (void)!chdir("/");
    close_terminal();
    become_holder(options, *prepared, to_parent.get());
  } catch (const std::exception& error) {
    const std::string message = std::string("-") + error.what();
    (void)!write(to_parent.get(), message.data(), message.size());
  }
  _exit(1);
}

void start_in_background(MountOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw StartupError("no pipe: " + errno_text(errno));
  FileDescriptor from_child(ends[0]);
  FileDescriptor to_parent(ends[1]);
  const pid_t child = fork();
  if (child < 0) throw StartupError("no process for the holder: " + errno_text(errno));
  if (child == 0) {
    from_child.reset();
    run_in_background(options, std::move(to_parent));
  }
  // The terminal's signals reach the child too; it cleans up and says so, and this waits for that.
  std::signal(SIGINT, SIG_IGN);
  to_parent.reset();
  std::string message;
  char buffer[512];
  for (ssize_t n; (n = read(from_child.get(), buffer, sizeof buffer)) > 0;) {
    message.append(buffer, static_cast<std::size_t>(n));
  }
  if (!message.empty() && message[0] == '+') {
    std::cout << message.substr(1) << std::endl;
    return;
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!message.empty()) throw StartupError(message.substr(1));
  throw StartupError("the daemon ended while it started; " + options.state_dir + "/winnow.log may tell why");
}

// What the command line holds as text until the machine is known.
struct MountWords {
  std::string memory = "25%";
  std::string disk = "0";
  std::string refresh = "off";
  std::string source_timeout = "60s";
  std::string watchdog = "30s";
  std::string umask = "0";
  std::string track = "auto";
  std::string page_cache = "on";
};

void apply(const MountWords& words, MountOptions& options) {
  options.memory_bytes = parse_size(words.memory, machine_memory());
  options.disk_bytes = parse_size(words.disk, 0);
  options.refresh = parse_duration(words.refresh);
  options.source_timeout = parse_duration(words.source_timeout);
  options.watchdog = parse_duration(words.watchdog);
  options.ownership.umask = static_cast<std::uint32_t>(std::stoul(words.umask, nullptr, 8));
  options.page_cache = words.page_cache == "on";
  options.track = parse_track_mode(words.track);
}

CLI::Validator size_check() {
  return parsed_by([](const std::string& text) { parse_size(text, machine_memory()); }, "SIZE");
}

CLI::Validator disk_check() {
  return parsed_by(
      [](const std::string& text) {
        if (text.ends_with('%')) throw std::invalid_argument("'" + text + "' is not a size of a disk; write 512M, 200G or 1T");
        parse_size(text, 0);
      },
      "SIZE");
}

CLI::Validator duration_check() {
  return parsed_by([](const std::string& text) { parse_duration(text); }, "DURATION");
}

CLI::Validator umask_check() {
  return parsed_by(
      [](const std::string& text) {
        const bool octal =
            !text.empty() && text.size() <= 4 && text.find_first_not_of("01234567") == std::string::npos;
        if (!octal)
          throw std::invalid_argument("'" + text + "' is not a umask; write octal digits, as in 022");
      },
      "OCTAL");
}

void add_s3_options(CLI::App& command, s3::S3Options& options) {
  command
      .add_option("--s3-endpoint", options.endpoint,
                  "Address of an S3-compatible store: http(s)://HOST[:PORT]")
      ->envname("WINNOW_S3_ENDPOINT");
  command.add_option("--s3-region", options.region, "Region of the bucket")->envname("WINNOW_S3_REGION");
  command
      .add_option("--s3-addressing", options.addressing,
                  "Where the bucket's name goes: path, virtual or auto")
      ->envname("WINNOW_S3_ADDRESSING")
      ->check(CLI::IsMember({"auto", "path", "virtual"}))
      ->capture_default_str();
  command.add_option("--s3-profile", options.profile, "Profile of the shared credentials and config files")
      ->envname("WINNOW_S3_PROFILE");
  command.add_flag("--anonymous", options.anonymous, "Send unsigned requests, for public buckets")
      ->envname("WINNOW_ANONYMOUS");
  command.add_option("--ca-file", options.ca_file, "Certificates (PEM) to trust instead of the system's")
      ->envname("WINNOW_CA_FILE");
}

}  // namespace

void add_mount_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("mount", "Mount a data set; returns when the mount answers");
  auto options = std::make_shared<MountOptions>();
  options->allow_other = geteuid() == 0;
  auto words = std::make_shared<MountWords>();
  command->add_option("SOURCE", options->source, "What to mount: a folder, or s3://BUCKET/PREFIX")
      ->required();
  command->add_option("MOUNTPOINT", options->mountpoint, "Empty folder to mount it on")->required();
  command->add_flag("-f,--foreground", options->foreground,
                    "Stay in the foreground and log to standard error");
  command
      ->add_option("--state-dir", options->state_dir,
                   "Where the snapshot is kept; default: one per source and mountpoint")
      ->envname("WINNOW_STATE_DIR");
  command
      ->add_option("--memory", words->memory,
                   "What may be kept in the page cache: bytes (4G) or a share of RAM (25%)")
      ->envname("WINNOW_MEMORY")
      ->check(size_check())
      ->capture_default_str();
  command->add_option("--disk", words->disk, "What may be kept on a local disk, in bytes (200G); 0: nothing")
      ->envname("WINNOW_DISK")
      ->check(disk_check())
      ->capture_default_str();
  command->add_option("--disk-dir", options->disk_dir, "Where; default: in the state directory")
      ->envname("WINNOW_DISK_DIR");
  command->add_option("--policy", options->policy, "Who leaves a full cache: importance, lru, 2-random or none")
      ->envname("WINNOW_POLICY")
      ->check(CLI::IsMember({"importance", "lru", "2-random", "none"}))
      ->capture_default_str();
  command
      ->add_option("--prefetch", options->prefetch, "Fetches at a time, ahead of readers; 0: none")
      ->envname("WINNOW_PREFETCH")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--track", words->track, "How opens are observed; fanotify needs root")
      ->envname("WINNOW_TRACK")
      ->check(CLI::IsMember({"auto", "fanotify", "open", "off"}))
      ->capture_default_str();
  command->add_option("--refresh", words->refresh, "Take a new snapshot this often (10m), or off")
      ->envname("WINNOW_REFRESH")
      ->check(duration_check())
      ->capture_default_str();
  command
      ->add_option("--source-timeout", words->source_timeout,
                   "How long a read waits for the source before EIO; off: for ever")
      ->envname("WINNOW_SOURCE_TIMEOUT")
      ->check(duration_check())
      ->capture_default_str();
  command
      ->add_flag("--follow-symlinks", options->follow_symlinks,
                 "Show what symlinks point to, if it lies inside the source")
      ->envname("WINNOW_FOLLOW_SYMLINKS");
  command
      ->add_flag("--allow-other,!--no-allow-other", options->allow_other,
                 "Let other users read the mount; default for root")
      ->envname("WINNOW_ALLOW_OTHER");
  command->add_option("--uid", options->ownership.uid, "Show every file as this user's")
      ->envname("WINNOW_UID");
  command->add_option("--gid", options->ownership.gid, "Show every file as this group's")
      ->envname("WINNOW_GID");
  command->add_option("--umask", words->umask, "Permission bits to take away, in octal (022)")
      ->envname("WINNOW_UMASK")
      ->check(umask_check())
      ->capture_default_str();
  command
      ->add_option("--page-cache", words->page_cache,
                   "on, or off (with --track open): every read comes to the daemon")
      ->envname("WINNOW_PAGE_CACHE")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command
      ->add_option("--watchdog", words->watchdog,
                   "Replace a worker that gives no sign of life for so long; off: never")
      ->envname("WINNOW_WATCHDOG")
      ->check(duration_check())
      ->capture_default_str();
  command
      ->add_option("--max-restarts", options->max_restarts,
                   "Workers that may die without a calm minute between, before reads get EIO")
      ->envname("WINNOW_MAX_RESTARTS")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  add_s3_options(*command, options->s3);
  command->add_option("--log-level", options->log_level, "debug, info, warn or error")
      ->envname("WINNOW_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  command->callback([options, words] {
    apply(*words, *options);
    clear_dead_mount(options->mountpoint);
    validate(*options);
    if (!options->foreground) return start_in_background(*options);
    const auto prepared = prepare(*options);
    become_holder(*options, *prepared, -1);
  });
}

}  // namespace winnow
