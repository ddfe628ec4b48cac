#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ctime>
#include <unistd.h>

#include "fs/holder/holder.h"
#include "fs/holder/messages.h"
#include "fs/holder_protocol.h"

namespace winnow::holder {

using namespace holder_protocol;

namespace {

constexpr int kEndsInMs = 5'000;          // a worker that has unmounted
constexpr int kTickMs = 1'000;
constexpr int kLookAtDumpMs = 20;
constexpr int64_t kFirstBeatMs = 10'000;  // to be loaded and linked, on a busy machine
constexpr int64_t kLookedAwayMs = 5'000;  // we were stopped ourselves, and the worker maybe with us

bool set_oom_score(const char* text) {
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score < 0) return false;
  const bool done = write(score, text, strlen(text)) > 0;
  close(score);
  return done;
}

// Child or not. False if it lives on.
bool wait_for_process(pid_t pid, int milliseconds) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return true;
  pollfd ended{process, POLLIN, 0};
  const bool has_ended = poll(&ended, 1, milliseconds) > 0;
  close(process);
  return has_ended;
}

bool is_dumping_core(pid_t pid) {
  char path[64], text[4096] = "";
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  (void)!read(file, text, sizeof text - 1);
  close(file);
  return strstr(text, "CoreDumping:\t1") != nullptr;
}

}  // namespace

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

bool Holder::set_up() {
  void* mapped =
      mmap(nullptr, sizeof(SurvivalMemory), PROT_READ | PROT_WRITE, MAP_SHARED, settings_.memory, 0);
  if (mapped == MAP_FAILED) return false;
  memory_ = static_cast<SurvivalMemory*>(mapped);
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGTERM);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGUSR1);  // a worker that was hit says so
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  // The worker goes first when memory runs out. Not everybody may lower this below what it was.
  if (!set_oom_score("-900")) set_oom_score("0");
  return signals_ >= 0;
}

int Holder::run() {
  if (!set_up()) return 1;
  if (settings_.takeover >= 0) {
    if (!take_over()) return 1;
  } else {
    memory_->holder_pid = getpid();
    listen_for_commands();
    if (settings_.life >= 0) {
      adopt();
    } else {
      start_worker(Start::kFresh);
    }
  }
  while (!done_) watch();
  clean_up();
  return exit_code_;
}

// A worker whose holder died has started us.
void Holder::adopt() {
  life_ = settings_.life;
  fcntl(life_, F_SETFD, FD_CLOEXEC);
  worker_ = settings_.adopted;
  is_child_ = false;
  on_ready();
  memory_->worker_pid = worker_;
  last_beats_ = memory_->beats;
  last_beat_at_ = last_look_at_ = now_ms();
  log_line("a new holder: worker %d goes on", worker_);
}

void Holder::clean_up() {
  if (succeeded_) return;
  let_worker_end();
  char path[4096];
  for (const char* name : {"holder", "control"}) {
    snprintf(path, sizeof path, "%s/%s", settings_.state_dir, name);
    unlink(path);
  }
}

void Holder::watch() {
  // poll(2) skips negative descriptors.
  pollfd watched[] = {{life_, POLLIN, 0},
                      {signals_, POLLIN, 0},
                      {asking_ < 0 ? commands_ : -1, POLLIN, 0},
                      {successor_, POLLIN, 0},
                      {given_up_ ? settings_.device : -1, POLLIN, 0},
                      {asking_, POLLIN, 0}};
  if (poll(watched, 6, is_hit() ? kLookAtDumpMs : kTickMs) < 0) return;
  reap();
  if (watched[4].revents != 0 && !answer_with_error(settings_.device, *memory_)) done_ = true;
  if (watched[1].revents != 0) on_signal();
  if (watched[2].revents != 0 && !done_) accept_command();
  if (watched[5].revents != 0 && !done_) on_command();
  if (watched[0].revents != 0 && !done_ && life_ == watched[0].fd) on_life_line();
  if (watched[3].revents != 0 && !done_ && successor_ == watched[3].fd) on_successor();
  // Its life line lasts as long as the dump does, which may be minutes.
  if (!done_ && is_hit() && is_dumping_core(worker_)) on_death(false);
  if (!done_) check_watchdog();
  check_command();
}

void Holder::on_life_line() {
  int fd = -1;
  switch (receive_byte(life_, &fd)) {
    case kReady:
      return on_ready();
    case kUnmounted:
      done_ = true;
      return;
    case kAborted:
      aborted_ = true;
      return;
    case kNewDevice:
      if (fd < 0) return;
      if (settings_.device >= 0) close(settings_.device);
      settings_.device = fd;
      ++memory_->remounts;
      if (successor_ >= 0) drop_successor();  // it has the old one
      return;
    case 0:
      return on_death(false);
    default:
      return;
  }
}

void Holder::on_ready() {
  ready_ = ever_ready_ = true;
  if (settings_.ready >= 0) close(settings_.ready);
  settings_.ready = -1;
  memory_->condition = HolderCondition::kServing;
  tell_service_manager();
}

void Holder::on_signal() {
  signalfd_siginfo info{};
  if (read(signals_, &info, sizeof info) != sizeof info || info.ssi_signo == SIGUSR1) return;
  told_to_end_ = true;
  if (ready_ && worker_ > 0) {
    kill(worker_, static_cast<int>(info.ssi_signo));
    return;
  }
  // Nobody is there who could unmount with manners.
  detach(settings_.mountpoint);
  end_worker();
  done_ = true;
}

void Holder::check_watchdog() {
  const uint64_t beats = memory_->beats;
  const int64_t now = now_ms();
  const bool looked_away = now - last_look_at_ > kLookedAwayMs;
  last_look_at_ = now;
  if (beats != last_beats_ || looked_away) {
    has_beaten_ = has_beaten_ || beats != last_beats_;
    last_beats_ = beats;
    last_beat_at_ = now;
    return;
  }
  const int64_t patience = int64_t{settings_.watchdog_seconds} * 1000;
  const int64_t limit = has_beaten_ || patience > kFirstBeatMs ? patience : kFirstBeatMs;
  if (worker_ <= 0 || patience <= 0 || now - last_beat_at_ < limit) return;
  log_line("worker %d gave no sign of life for %d s; it is replaced", worker_, settings_.watchdog_seconds);
  kill(worker_, SIGKILL);
  on_death(true);
}

void detach(const char* mountpoint) {
  if (umount2(mountpoint, MNT_DETACH) == 0) return;
  const pid_t helper = fork();  // an ordinary user's way
  if (helper == 0) {
    execlp("fusermount3", "fusermount3", "-u", "-z", "-q", "--", mountpoint, nullptr);
    _exit(127);
  }
  if (helper > 0) wait_for_process(helper, kEndsInMs);
}

void Holder::become_worker(Start kind, int life) {
  setsid();  // the terminal's signals reach it by way of us, once
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  set_oom_score("300");
  char device[16], memory[16], lock[16], life_text[16], ready[16];
  snprintf(device, sizeof device, "%d", settings_.device);
  snprintf(memory, sizeof memory, "%d", settings_.memory);
  snprintf(lock, sizeof lock, "%d", settings_.lock);
  snprintf(life_text, sizeof life_text, "%d", life);
  snprintf(ready, sizeof ready, "%d", settings_.ready);
  for (const int fd : {settings_.device, settings_.memory, settings_.lock, life, settings_.ready}) {
    if (fd >= 0) fcntl(fd, F_SETFD, 0);
  }
  if (settings_.takeover >= 0) fcntl(settings_.takeover, F_SETFD, FD_CLOEXEC);
  static const char* const kNames[] = {"fresh", "successor", "remount", "standby"};
  execl(settings_.worker, "winnow", "serve", "--state-dir", settings_.state_dir, "--device", device,
        "--memory-fd", memory, "--lock-fd", lock, "--life-fd", life_text, "--ready-fd", ready, "--start",
        kNames[static_cast<int>(kind)], settings_.foreground ? "--foreground" : nullptr, nullptr);
  log_line("%s cannot be run: %s", settings_.worker, strerror(errno));
  _exit(127);
}

void Holder::start_worker(Start kind) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    log_line("no socket for a worker: %s", strerror(errno));
    return give_up();
  }
  const pid_t child = fork();
  if (child == 0) become_worker(kind, ends[1]);
  if (child < 0) log_line("no process for a worker: %s", strerror(errno));
  close(ends[1]);
  life_ = ends[0];  // of a child that could not be made, it tells the end at once
  worker_ = child > 0 ? child : 0;
  is_child_ = true;
  worker_status_ = -1;
  ready_ = false;
  if (kind != Start::kStandby) memory_->worker_pid = worker_;
  has_beaten_ = false;
  last_beats_ = memory_->beats;
  last_beat_at_ = last_look_at_ = now_ms();
}

void Holder::end_worker() {
  if (worker_ > 0) {
    kill(worker_, SIGKILL);
    pollfd life{life_, 0, 0};
    if (life_ >= 0) poll(&life, 1, 1000);
    wait_for_status();
  }
  close_life();
  worker_ = 0;
}

// It has said that the mount is gone, and is about to end: whoever waits for us waits for both.
void Holder::let_worker_end() {
  if (worker_ <= 0) return;
  if (!wait_for_process(worker_, kEndsInMs)) end_worker();
}

void Holder::close_life() {
  if (life_ >= 0) close(life_);
  life_ = -1;
}

}  // namespace winnow::holder
