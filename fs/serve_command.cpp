#include <fcntl.h>
#include <poll.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <iostream>

#include "fs/commands.h"
#include "fs/daemon.h"
#include "fs/fault_notes.h"
#include "fs/holder_protocol.h"
#include "fs/make_source.h"
#include "fs/mount_table.h"
#include "fs/survival.h"
#include "fs/test_hooks.h"
#include "fs/units.h"

namespace winnow {

namespace {

// What a holder tells its worker.
struct ServeWords {
  std::string state_dir;
  std::string start = "fresh";
  int device = -1;
  int memory = -1;
  int lock = -1;
  int life = -1;
  int ready = -1;
  bool foreground = false;
};

std::string age(std::int64_t taken_at) {
  const std::int64_t seconds = std::max<std::int64_t>(0, std::time(nullptr) - taken_at);
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min";
  if (seconds < 172800) return std::to_string(seconds / 3600) + " h";
  return std::to_string(seconds / 86400) + " days";
}

std::string mounted_message(const MountOptions& options, const Daemon& daemon, bool can_resend) {
  const auto tree = daemon.snapshots().tree();
  const auto& header = tree->catalogue().header();
  std::string text = "mounted " + options.source + " on " + options.mountpoint + ": " +
                     std::to_string(header.files) + " files, " + format_size(header.total_bytes);
  if (options.used_saved_snapshot) {
    text += "; as of a snapshot " + age(header.taken_at) + " old (winnow refresh " + options.mountpoint +
            " brings in what changed since)";
  }
  if (const std::uint64_t count = daemon.names_left_out(); count > 0)
    text += "; " + std::to_string(count) + " names left out (winnow status --skipped " + options.mountpoint +
            " lists them)";
  if (!can_resend)
    text += "; this kernel (before 6.9) cannot hand requests on, so a crash remounts and open files fail";
  return text;
}

void set_up_log(const StateDir& state, const MountOptions& options) {
  spdlog::set_default_logger(options.foreground
                                 ? spdlog::stderr_logger_mt("winnow")
                                 : spdlog::rotating_logger_mt("winnow", state.log_path(), 4 << 20, 2));
  spdlog::set_level(spdlog::level::from_str(options.log_level));
  spdlog::flush_on(spdlog::level::info);
}

// A worker whose holder died starts another one, no child of its own, and goes on under it. Runs on the life
// line's thread, whose descriptor table has only what is named in `words`.
FileDescriptor start_new_holder(std::vector<std::string> words, std::vector<int> inherited) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return FileDescriptor();
  FileDescriptor ours(ends[0]);
  const FileDescriptor theirs(ends[1]);
  words.push_back("life=" + std::to_string(theirs.get()));
  inherited.push_back(theirs.get());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t between = fork();
  if (between == 0) {
    if (fork() != 0) _exit(0);
    setsid();
    for (const int fd : inherited) fcntl(fd, F_SETFD, 0);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  if (between > 0) waitpid(between, nullptr, 0);
  return ours;
}

// The kernel closed the connection: after an unmount, or an abort from outside.
bool is_cut_off(int device) {
  pollfd ended{device, 0, 0};
  return poll(&ended, 1, 0) > 0 && (ended.revents & POLLERR) != 0;
}

// One life of a worker, from the holder's words to the end of the mount.
class Worker {
 public:
  explicit Worker(ServeWords words)
      : words_(std::move(words)), ready_(words_.ready), survival_(words_.memory), memory_(survival_.get()) {
    for (const int fd : {words_.device, words_.memory, words_.lock, words_.ready}) {
      if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    fcntl(words_.device, F_SETFL, fcntl(words_.device, F_GETFL) & ~O_NONBLOCK);  // as a holder that gave up leaves it
    note_faults(memory_);
  }

  int run() {
    try {
      return serve();
    } catch (const std::exception& error) {
      fail(error.what());
      return 1;
    }
  }

 private:
  int serve() {
    const StateDir state(words_.state_dir, FileDescriptor(dup(words_.lock)));
    options_ = load_mount_options(state.options_path());
    options_.foreground = words_.foreground;  // the holder's, not what it was when it was mounted
    set_up_log(state, options_);
    bool succeeds = words_.start != "fresh";
    if (words_.start == "standby" && !stand_by(state)) return 1;
    if (succeeds && must_remount()) {
      remount();
      succeeds = false;
    } else if (is_cut_off(words_.device)) {
      life_.say(holder_protocol::kUnmounted);
      return holder_protocol::kExitUnmounted;
    }
    watch_holder();
    Daemon daemon(options_,
                  {.device = FileDescriptor(dup(words_.device)),
                   .memory = FileDescriptor(dup(words_.memory)),
                   .lock = FileDescriptor(dup(words_.lock)),
                   .succeeds = succeeds},
                  memory_);
    daemon.start();
    life_.serves([&daemon] { return daemon.is_well(); });
    life_.say(holder_protocol::kReady);
    announce(daemon);
    const Daemon::End end = daemon.run();
    life_.serves([] { return true; });
    const bool aborted = end == Daemon::End::kAborted;
    if (!aborted) spdlog::info("unmounted {}", options_.mountpoint);
    life_.say(aborted ? holder_protocol::kAborted : holder_protocol::kUnmounted);
    if (end == Daemon::End::kForced) {
      spdlog::shutdown();
      _exit(holder_protocol::kExitUnmounted);
    }
    return aborted ? holder_protocol::kExitAborted : holder_protocol::kExitUnmounted;
  }

  // Everything is ready but the first request; the version before still serves.
  bool stand_by(const StateDir& state) {
    if (test_hook("WINNOW_TEST_FAIL_STANDBY") != nullptr)
      throw StartupError("a test wants no standby; unset it");
    const Catalogue readable(state.catalogue_path());
    make_source(options_);
    life_.say(holder_protocol::kReady);
    if (life_.wait_for_word() != holder_protocol::kGo) return false;
    if (test_hook("WINNOW_TEST_FAIL_GO") != nullptr) throw StartupError("a test wants no start; unset it");
    return true;
  }

  bool must_remount() const {
    if (words_.start == "remount" || memory_.remounting != 0) return true;
    const bool cannot_go_on = memory_.init_reply_size != 0 && memory_.can_resend == 0;
    return (cannot_go_on || is_cut_off(words_.device)) && mount_at(options_.mountpoint).has_value() &&
           (cannot_go_on || is_dead_mount(options_.mountpoint));
  }

  void remount() {
    memory_.remounting = 1;  // should we die in between, the next worker goes on here
    const auto there = mount_at(options_.mountpoint);
    if (there && there->type == "fuse.winnow") unmount(options_.mountpoint, UnmountKind::kForce);
    forget_connection(memory_, words_.memory);
    FileDescriptor device = mount_fuse({options_.source, options_.mountpoint, options_.allow_other});
    life_.say(holder_protocol::kNewDevice, device.get());
    memory_.remounting = 0;
    close(words_.device);
    words_.device = device.release();
    spdlog::warn("{} was mounted anew; files that were open before give errors", options_.mountpoint);
  }

  void watch_holder() {
    const std::vector<int> inherited = {words_.device, words_.memory, words_.lock};
    std::vector<std::string> words = holder_words(options_, words_.device, words_.memory, words_.lock);
    words.push_back("adopted=" + std::to_string(getpid()));
    life_.start(inherited, [this, words, inherited] {
      if (was_hit()) return FileDescriptor();  // the holder is not dead, we are
      // A successor that died before it had the mount: the old holder takes it back.
      if (memory_.handover == Handover::kYielded) _exit(1);
      return start_new_holder(words, inherited);
    });
  }

  // To whoever waits for the mount, once.
  void announce(const Daemon& daemon) {
    const std::string message = mounted_message(options_, daemon, memory_.can_resend != 0);
    if (memory_.announced.exchange(1) == 0) {
      spdlog::info("winnow {} {}", WINNOW_VERSION, message);
      if (options_.foreground) std::cout << message << std::endl;
    } else {
      spdlog::info("worker {} serves {}", getpid(), options_.mountpoint);
    }
    if (ready_) (void)!write(ready_.get(), ("+" + message).data(), message.size() + 1);
    ready_.reset();
  }

  void fail(const std::string& reason) {
    spdlog::error("{}", reason);
    // Nobody was told of this mount: it never was.
    if (memory_.announced == 0 && !options_.mountpoint.empty())
      unmount(options_.mountpoint, UnmountKind::kLazy);
    const std::string message = "-" + reason;
    if (ready_) (void)!write(ready_.get(), message.data(), message.size());
  }

  ServeWords words_;
  FileDescriptor ready_;  // whoever waits for the mount reads there
  MappedSurvival survival_;
  SurvivalMemory& memory_;
  LifeLine life_{FileDescriptor(words_.life), memory_};
  MountOptions options_;
};

int serve(const ServeWords& words) {
  try {
    return Worker(words).run();
  } catch (const StartupError& error) {  // another memory layout than ours
    const std::string message = std::string("-") + error.what();
    (void)!write(words.ready, message.data(), message.size());
    spdlog::basic_logger_mt("winnow", words.state_dir + "/winnow.log")->error("{}", error.what());
    return 1;
  }
}

}  // namespace

void add_serve_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("serve", "Serve a mount for its holder")->group("");
  auto words = std::make_shared<ServeWords>();
  command->add_option("--state-dir", words->state_dir)->required();
  command->add_option("--device", words->device)->required();
  command->add_option("--memory-fd", words->memory)->required();
  command->add_option("--lock-fd", words->lock)->required();
  command->add_option("--life-fd", words->life)->required();
  command->add_option("--ready-fd", words->ready);
  command->add_option("--start", words->start);
  command->add_flag("--foreground", words->foreground);
  command->callback([words] {
    const int status = serve(*words);
    spdlog::shutdown();
    _exit(status);  // threads that hang on a dead source are not waited for
  });
}

}  // namespace winnow
