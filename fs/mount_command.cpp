#include <fcntl.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <ctime>
#include <iostream>
#include <mutex>
#include <thread>

#include "fs/commands.h"
#include "fs/daemon.h"
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

std::string age(std::int64_t taken_at) {
  const std::int64_t seconds = std::max<std::int64_t>(0, std::time(nullptr) - taken_at);
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min";
  if (seconds < 172800) return std::to_string(seconds / 3600) + " h";
  return std::to_string(seconds / 86400) + " days";
}

std::string mounted_message(const MountOptions& options, const Daemon& daemon) {
  const auto tree = daemon.snapshots().tree();
  const auto& header = tree->catalogue().header();
  std::string text = "mounted " + options.source + " on " + options.mountpoint + ": " +
                     std::to_string(header.files) + " files, " + format_size(header.total_bytes);
  if (daemon.used_saved_snapshot()) {
    text += "; as of a snapshot " + age(header.taken_at) + " old (winnow refresh " + options.mountpoint +
            " brings in what changed since)";
  }
  const LeftOut left_out = tree->catalogue().left_out();
  const std::uint64_t count = left_out.special + left_out.unreadable + left_out.reserved + left_out.links;
  if (count > 0) text += "; " + std::to_string(count) + " names left out (winnow status tells why)";
  return text;
}

void log_to_stderr(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("winnow"));
  spdlog::set_level(spdlog::level::from_str(level));
}

void log_to_file(const std::string& path, const std::string& level) {
  spdlog::drop_all();
  spdlog::set_default_logger(spdlog::rotating_logger_mt("winnow", path, 4 << 20, 2));
  spdlog::set_level(spdlog::level::from_str(level));
  spdlog::flush_on(spdlog::level::info);
}

void close_terminal() {
  const FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
}

std::unique_ptr<Daemon> prepare(const MountOptions& options) {
  ScanProgress progress;
  const ScanReport report(progress);
  return std::make_unique<Daemon>(options, progress);
}

void run_in_foreground(const MountOptions& options) {
  log_to_stderr(options.log_level);
  const auto daemon = prepare(options);
  daemon->mount();
  std::cout << mounted_message(options, *daemon) << std::endl;
  daemon->run();
}

// In the child: everything up to the mount that answers, then off the terminal. The message and its first
// byte,
// '+' or '-', go to the parent.
[[noreturn]] void run_in_background(const MountOptions& options, FileDescriptor to_parent) {
  const auto tell = [&](char sign, const std::string& text) {
    const std::string message = sign + text;
    (void)!write(to_parent.get(), message.data(), message.size());
    to_parent.reset();
  };
  int status = 0;
  try {
    log_to_stderr("warn");
    const auto daemon = prepare(options);
    log_to_file(daemon->log_path(), options.log_level);  // before threads that log are started
    daemon->mount();
    setsid();
    (void)!chdir("/");
    const std::string message = mounted_message(options, *daemon);
    spdlog::info("winnow {} {}", WINNOW_VERSION, message);
    close_terminal();
    tell('+', message);
    daemon->run();
    spdlog::info("unmounted {}", options.mountpoint);
  } catch (const std::exception& error) {
    tell('-', error.what());
    status = 1;
  }
  spdlog::shutdown();
  _exit(status);
}

void start_in_background(const MountOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw StartupError("no pipe: " + errno_text(errno));
  FileDescriptor from_child(ends[0]);
  FileDescriptor to_parent(ends[1]);
  const pid_t child = fork();
  if (child < 0) throw StartupError("no process for the daemon: " + errno_text(errno));
  if (child == 0) {
    from_child.reset();
    run_in_background(options, std::move(to_parent));
  }
  // The terminal's signals reach the child too; it cleans up and says so, and this waits for that.
  std::signal(SIGINT, SIG_IGN);
  to_parent.reset();
  std::string message;
  char buffer[512];
  for (ssize_t n; (n = read(from_child.get(), buffer, sizeof buffer)) > 0;)
    message.append(buffer, static_cast<std::size_t>(n));
  if (!message.empty() && message[0] == '+') {
    std::cout << message.substr(1) << std::endl;
    return;
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!message.empty()) throw StartupError(message.substr(1));
  throw StartupError(
      "the daemon ended while it started" +
      (WIFSIGNALED(status) ? std::string(" (") + strsignal(WTERMSIG(status)) + ")" : std::string()));
}

// What the command line holds as text until the machine is known.
struct MountWords {
  std::string memory = "25%";
  std::string refresh = "off";
  std::string source_timeout = "60s";
  std::string umask = "0";
  std::string track = "auto";
  std::string page_cache = "on";
};

void apply(const MountWords& words, MountOptions& options) {
  options.memory_bytes = parse_size(words.memory, machine_memory());
  options.refresh = parse_duration(words.refresh);
  options.source_timeout = parse_duration(words.source_timeout);
  options.ownership.umask = static_cast<std::uint32_t>(std::stoul(words.umask, nullptr, 8));
  options.page_cache = words.page_cache == "on";
  options.track = parse_track_mode(words.track);
}

// A CLI11 check that runs a parser for the sake of its error.
template <typename Parse>
CLI::Validator check(Parse parse, const std::string& kind) {
  return CLI::Validator(
      [parse](std::string& text) {
        try {
          parse(text);
          return std::string();
        } catch (const std::exception& error) {
          return std::string(error.what());
        }
      },
      kind);
}

CLI::Validator size_check() {
  return check([](const std::string& text) { parse_size(text, machine_memory()); }, "SIZE");
}

CLI::Validator duration_check() {
  return check([](const std::string& text) { parse_duration(text); }, "DURATION");
}

CLI::Validator umask_check() {
  return check(
      [](const std::string& text) {
        const bool octal =
            !text.empty() && text.size() <= 4 && text.find_first_not_of("01234567") == std::string::npos;
        if (!octal)
          throw std::invalid_argument("'" + text + "' is not a umask; write octal digits, as in 022");
      },
      "OCTAL");
}

}  // namespace

void add_mount_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("mount", "Mount a data set; returns when the mount answers");
  auto options = std::make_shared<MountOptions>();
  options->allow_other = geteuid() == 0;
  auto words = std::make_shared<MountWords>();
  command->add_option("SOURCE", options->source, "Folder to mount: a local path or any mounted filesystem")
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
  command->add_option("--log-level", options->log_level, "debug, info, warn or error")
      ->envname("WINNOW_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  command->callback([options, words] {
    apply(*words, *options);
    validate(*options);
    if (options->foreground) {
      run_in_foreground(*options);
    } else {
      start_in_background(*options);
    }
  });
}

}  // namespace winnow
