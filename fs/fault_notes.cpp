#include "fs/fault_notes.h"

#include <unistd.h>

#include <csignal>
#include <iterator>

namespace winnow {

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

SurvivalMemory* noted_in = nullptr;
struct sigaction before[std::size(kSignals)];

// Only what is allowed in a signal handler.
void on_fault(int number, siginfo_t* info, void*) {
  // A fault has a positive code; abort() comes from ourselves.
  const bool is_own = info->si_code > 0 || info->si_pid == getpid();
  (is_own ? noted_in->fault : noted_in->sent_signal) = static_cast<std::uint32_t>(number);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    if (kSignals[i] == number) sigaction(number, &before[i], nullptr);
  }
  if (info->si_code <= 0) raise(number);  // a fault happens again by itself
}

}  // namespace

void note_faults(SurvivalMemory& memory) {
  noted_in = &memory;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before[i]);
}

}  // namespace winnow
