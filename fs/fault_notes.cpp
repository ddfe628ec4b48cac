#include "fs/fault_notes.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iterator>

namespace winnow {

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

SurvivalMemory* noted_in = nullptr;
std::atomic<bool> is_hit{false};
struct sigaction before[std::size(kSignals)];

// Only what is allowed in a signal handler.
void on_fault(int number, siginfo_t* info, void*) {
  // A fault has a positive code; abort() comes from ourselves.
  const bool is_own = info->si_code > 0 || info->si_pid == getpid();
  (is_own ? noted_in->fault : noted_in->sent_signal) = static_cast<std::uint32_t>(number);
  is_hit = true;
  noted_in->hit_pid = getpid();
  // A core dump may take minutes, and the life line ends after it.
  if (const pid_t holder = noted_in->holder_pid; holder > 0) kill(holder, SIGUSR1);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    if (kSignals[i] == number) sigaction(number, &before[i], nullptr);
  }
  if (info->si_code <= 0) raise(number);  // a fault happens again by itself
}

}  // namespace

bool was_hit() { return is_hit; }

void note_faults(SurvivalMemory& memory) {
  noted_in = &memory;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before[i]);
}

}  // namespace winnow
