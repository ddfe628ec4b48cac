#include <cerrno>
#include <fcntl.h>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fs/holder/holder.h"
#include "fs/holder/messages.h"
#include "fs/holder_protocol.h"

namespace winnow::holder {

using namespace holder_protocol;

namespace {

constexpr int kCommandMs = 10'000;   // a command says at once what it wants
constexpr int kStandbyMs = 20'000;   // for a worker to map the catalogue and stand by
constexpr int kYieldMs = 10'000;     // for the old holder to end its worker
constexpr int kGoMs = 10'000;        // for a worker that stood by to serve
constexpr int kHandoverMs = 20'000;  // longer than all that a successor waits for between yield and leave

// In another pid namespace, a number means another process.
bool is_worker_on(pid_t pid, const char* state_dir) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
  const int file = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return false;
  char words[4096 + 256];
  const ssize_t size = read(file, words, sizeof words);
  close(file);
  return size > 0 && memmem(words, static_cast<size_t>(size), state_dir, strlen(state_dir) + 1) != nullptr;
}

}  // namespace

void Holder::listen_for_commands() {
  // By way of the folder: a socket's name holds 108 bytes, a state directory's path may have more.
  const int folder = open(settings_.state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
  char path[4096];
  snprintf(path, sizeof path, "%s/holder", settings_.state_dir);
  unlink(path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/holder", folder);
  if (commands_ >= 0) close(commands_);
  commands_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const mode_t before = umask(0177);
  if (bind(commands_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(commands_, 4) != 0) {
    log_line("no socket for commands at %s: %s; winnow upgrade will not work", path, strerror(errno));
  }
  umask(before);
  close(folder);
}

void Holder::accept_command() {
  asking_ = accept4(commands_, nullptr, nullptr, SOCK_CLOEXEC);
  asking_since_ = now_ms();
}

void Holder::on_command() {
  const int peer = asking_;
  asking_ = -1;
  const char asked = receive_byte(peer, nullptr);
  if (asked == kPass) return pass_descriptors(peer);
  if (asked == kRestart) {
    restart();
    send_byte(peer, kOk);
  }
  close(peer);
}

// Others wait behind a peer that never says what it wants.
void Holder::check_command() {
  if (asking_ < 0 || now_ms() - asking_since_ < kCommandMs) return;
  close(asking_);
  asking_ = -1;
}

void Holder::restart() {
  restarts_ = 0;
  memset(deaths_, 0, sizeof deaths_);
  for (auto& suspect : memory_->suspects) suspect.unique = 0, suspect.crashes = 0;
  if (!given_up_) return;
  given_up_ = false;
  memory_->condition = HolderCondition::kRestarting;
  log_line("told to start again");
  start_worker(Start::kSuccessor);
}

// From now on the peer may ask us to yield; until then, all goes on as before.
void Holder::pass_descriptors(int peer) {
  const int fds[] = {settings_.device, settings_.memory, settings_.lock};
  if (successor_ < 0 && send_byte(peer, kOk, fds, 3)) {
    successor_ = peer;
    return;
  }
  send_byte(peer, kRefused);
  close(peer);
}

void Holder::drop_successor() {
  close(successor_);
  successor_ = -1;
}

// When the successor asks us to yield, our worker ends; if it then hangs up without a word, it failed, and
// the mount is ours again.
void Holder::on_successor() {
  if (receive_byte(successor_, nullptr) != kYield) return drop_successor();
  end_worker();
  for (auto& slot : memory_->served) slot = 0;
  memory_->handover = Handover::kYielded;
  send_byte(successor_, kOk);
  wait_for_byte(successor_, kHandoverMs);  // its kLeave, or its end
  auto yielded = Handover::kYielded;
  if (!memory_->handover.compare_exchange_strong(yielded, Handover::kNone)) {
    succeeded_ = done_ = true;
    return;
  }
  drop_successor();
  // Should it have died beside its worker: one mount, one worker.
  const pid_t theirs = memory_->standby_pid.exchange(0);
  if (is_worker_on(theirs, settings_.state_dir)) kill(theirs, SIGKILL);
  log_line("the successor failed; this version goes on");
  listen_for_commands();
  memory_->holder_pid = getpid();
  if (given_up_) return resend(settings_.device);
  start_worker(Start::kSuccessor);
}

// Succeeds the holder at the other end: a worker of ours stands by, theirs ends, ours goes.
bool Holder::take_over() {
  start_worker(Start::kStandby);
  memory_->standby_pid = worker_;
  const bool serves = wait_for_byte(life_, kStandbyMs) == kReady && send_byte(settings_.takeover, kYield) &&
                      wait_for_byte(settings_.takeover, kYieldMs) == kOk && send_byte(life_, kGo) &&
                      wait_for_byte(life_, kGoMs) == kReady;
  auto yielded = Handover::kYielded;
  if (!serves || !memory_->handover.compare_exchange_strong(yielded, Handover::kTaken)) {
    end_worker();
    memory_->standby_pid = 0;
    return false;
  }
  listen_for_commands();
  memory_->standby_pid = 0;
  memory_->worker_pid = worker_;
  on_ready();
  send_byte(settings_.takeover, kLeave);
  close(settings_.takeover);
  settings_.takeover = -1;
  memory_->holder_pid = getpid();
  log_line("took over from the version before; worker %d serves", worker_);
  return true;
}

}  // namespace winnow::holder
