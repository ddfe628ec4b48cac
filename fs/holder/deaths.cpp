#include <fcntl.h>
#include <csignal>
#include <cstring>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/holder/holder.h"
#include "fs/holder_protocol.h"

namespace winnow::holder {

using namespace holder_protocol;

namespace {

constexpr int64_t kMinuteMs = 60'000;
constexpr int64_t kLongestBackOffMs = 1'000;
constexpr int64_t kStuckMs = 200;  // a worker that is dead but never finishes dying is not waited for longer

bool is_fault(int status) {
  if (status < 0 || !WIFSIGNALED(status)) return false;
  switch (WTERMSIG(status)) {
    case SIGSEGV:
    case SIGBUS:
    case SIGABRT:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
      return true;
    default:
      return false;
  }
}

// A fault of its own: it told so, or, where it could not (a full stack), its end did.
bool take_crash(SurvivalMemory& memory, pid_t worker, int status) {
  const bool is_hit = memory.hit_pid.exchange(0) == worker;
  const bool told = memory.fault.exchange(0) != 0 && is_hit;
  const bool was_sent = memory.sent_signal.exchange(0) != 0 && is_hit;
  return told || (is_fault(status) && !was_sent);
}

bool has_exited(int status, int code) {
  return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

}  // namespace

// Children that ended: the worker, or an earlier one that was long stuck in the kernel.
void Holder::reap() {
  int status = 0;
  for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == worker_) worker_status_ = status;
  }
}

// How the worker ended; -1 if that is not known in time, as of one that is stuck in the kernel.
int Holder::wait_for_status() {
  const int64_t give_up_at = now_ms() + kStuckMs;
  while (is_child_ && worker_ > 0 && worker_status_ < 0 && now_ms() < give_up_at) {
    reap();
    if (worker_status_ < 0) usleep(1000);
  }
  return worker_status_;
}

void Holder::on_death(bool hung) {
  close_life();
  const int status = wait_for_status();
  if (is_the_end(status)) return;
  const bool remount = aborted_ || has_exited(status, kExitAborted);
  count_death(status, hung);
  const bool give_it_up = ++restarts_ > settings_.max_restarts;
  const int64_t pause = give_it_up ? 0 : pause_after_death();
  say_death(status, hung, pause);
  aborted_ = false;
  worker_ = 0;
  if (told_to_end_) {
    detach(settings_.mountpoint);
    done_ = true;
    return;
  }
  if (give_it_up) return give_up();
  usleep(static_cast<useconds_t>(pause * 1000));
  start_worker(remount ? Start::kRemount : Start::kSuccessor);
}

bool Holder::is_the_end(int status) {
  if (has_exited(status, kExitUnmounted)) {
    done_ = true;
  } else if (!ever_ready_ && status >= 0 && WIFEXITED(status)) {
    // It failed before the mount ever answered, has told its reason, and unmounted.
    exit_code_ = 1;
    done_ = true;
  }
  return done_;
}

void Holder::count_death(int status, bool hung) {
  ++memory_->deaths;
  memory_->condition = HolderCondition::kRestarting;
  if (hung) ++memory_->hangs;
  const bool crashed = take_crash(*memory_, worker_, status);
  if (crashed) ++memory_->crashes;
  if (crashed || hung) suspect_served(*memory_, hung);
  for (auto& slot : memory_->served) slot = 0;
  const int64_t now = now_ms();
  if (now - deaths_[kDeathsBeforeBackOff - 1] > kMinuteMs) restarts_ = 0;
  memmove(deaths_, deaths_ + 1, sizeof deaths_ - sizeof deaths_[0]);
  deaths_[kDeathsBeforeBackOff - 1] = now;
}

void Holder::say_death(int status, bool hung, int64_t pause) {
  const bool cut_off = aborted_ || has_exited(status, kExitAborted);
  const char* how = hung                  ? "hung"
                    : cut_off             ? "was cut off from outside"
                    : status < 0          ? "died"
                    : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                          : "ended";
  const auto deaths = static_cast<unsigned long long>(memory_->deaths.load());
  if (pause == 0) return log_line("worker %d: %s (death %llu)", worker_, how, deaths);
  log_line("worker %d: %s (death %llu); %d within a minute, so the next starts in %lld ms", worker_, how, deaths,
           kDeathsBeforeBackOff, static_cast<long long>(pause));
}

int64_t Holder::pause_after_death() const {
  if (deaths_[0] == 0 || now_ms() - deaths_[0] > kMinuteMs) return 0;
  int64_t pause = 25;
  for (int i = kDeathsBeforeBackOff; i < restarts_ && pause < kLongestBackOffMs; ++i) pause *= 2;
  return pause < kLongestBackOffMs ? pause : kLongestBackOffMs;
}

void Holder::give_up() {
  close_life();
  worker_ = 0;
  memory_->worker_pid = 0;
  if (!ever_ready_) {
    log_line("gave up: no worker came up; %s is unmounted", settings_.mountpoint);
    detach(settings_.mountpoint);
    exit_code_ = 1;
    done_ = true;
    return;
  }
  log_line("gave up after %d restarts: reads on %s get EIO until 'winnow status --restart %s'",
           settings_.max_restarts, settings_.mountpoint, settings_.mountpoint);
  memory_->condition = HolderCondition::kGivenUp;
  given_up_ = true;
  if (memory_->can_resend != 0) {
    resend(settings_.device);
    fcntl(settings_.device, F_SETFL, fcntl(settings_.device, F_GETFL) | O_NONBLOCK);
    return;
  }
  // What the worker had taken cannot be answered any more: the kernel ends it with the connection. A worker that cannot
  // die may hold that, too. The mount itself stays, since it is in use.
  const int in_use = open(settings_.mountpoint, O_PATH | O_DIRECTORY | O_CLOEXEC);
  umount2(settings_.mountpoint, MNT_FORCE);
  close(in_use);
  close(settings_.device);
  settings_.device = -1;
  memory_->remounting = 1;
}

}  // namespace winnow::holder
