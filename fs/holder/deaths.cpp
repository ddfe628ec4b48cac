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
bool take_crash(SurvivalMemory& memory, int status) {
  const bool told = memory.fault.exchange(0) != 0;
  const bool was_sent = memory.sent_signal.exchange(0) != 0;
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
  count_death(status, hung);
  const bool remount = aborted_ || has_exited(status, kExitAborted);
  aborted_ = false;
  worker_ = 0;
  if (++restarts_ > settings_.max_restarts) return give_up();
  back_off();
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
  if (take_crash(*memory_, status)) {
    ++memory_->crashes;
    remember_suspects();
  }
  for (auto& slot : memory_->served) slot = 0;
  const bool cut_off = aborted_ || has_exited(status, kExitAborted);
  const char* how = hung                  ? "hung"
                    : cut_off             ? "was cut off from outside"
                    : status < 0          ? "died"
                    : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                          : "ended";
  log_line("worker %d: %s (death %llu); starting another", worker_, how,
           static_cast<unsigned long long>(memory_->deaths.load()));
  const int64_t now = now_ms();
  if (now - deaths_[kDeathsBeforeBackOff - 1] > kMinuteMs) restarts_ = 0;
  memmove(deaths_, deaths_ + 1, sizeof deaths_ - sizeof deaths_[0]);
  deaths_[kDeathsBeforeBackOff - 1] = now;
}

// What was being served in a crash may have caused it.
void Holder::remember_suspects() {
  for (auto& slot : memory_->served) {
    const uint64_t unique = slot;
    if (unique == 0) continue;
    SurvivalMemory::Suspect* place = nullptr;
    for (auto& suspect : memory_->suspects) {
      if (suspect.unique == unique) {
        place = &suspect;
        break;
      }
      if (place == nullptr && suspect.unique == 0) place = &suspect;
    }
    if (place == nullptr) return;
    place->unique = unique;
    ++place->crashes;
  }
}

void Holder::back_off() {
  if (deaths_[0] == 0 || now_ms() - deaths_[0] > kMinuteMs) return;
  int64_t pause = 25;
  for (int i = kDeathsBeforeBackOff; i < restarts_ && pause < kLongestBackOffMs; ++i) pause *= 2;
  if (pause > kLongestBackOffMs) pause = kLongestBackOffMs;
  log_line("%d deaths within a minute: waiting %lld ms", kDeathsBeforeBackOff, static_cast<long long>(pause));
  usleep(static_cast<useconds_t>(pause * 1000));
}

void Holder::give_up() {
  close_life();
  worker_ = 0;
  memory_->worker_pid = 0;
  if (!ever_ready_) {
    log_line("gave up: no worker came up; %s is unmounted", settings_.mountpoint);
    umount2(settings_.mountpoint, MNT_DETACH);
    exit_code_ = 1;
    done_ = true;
    return;
  }
  log_line("gave up after %d restarts: reads on %s get EIO until 'winnow status --restart %s'",
           settings_.max_restarts, settings_.mountpoint, settings_.mountpoint);
  memory_->condition = HolderCondition::kGivenUp;
  given_up_ = true;
  resend(settings_.device);
}

}  // namespace winnow::holder
