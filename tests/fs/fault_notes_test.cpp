#include "fs/fault_notes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "fs/survival.h"

namespace winnow {
namespace {

struct FaultNotesTest : testing::Test {
  // The signal that ends a child which notes its faults and then does this.
  int end_of(const std::function<void()>& act) {
    const pid_t child = fork();
    if (child == 0) {
      for (const int number : {SIGSEGV, SIGABRT}) signal(number, SIG_DFL);  // a sanitizer's would report
      note_faults(memory);
      act();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  FileDescriptor memory_fd = make_survival_memory();
  MappedSurvival survival{memory_fd.get()};
  SurvivalMemory& memory = survival.get();
};

TEST_F(FaultNotesTest, AFaultIsTheProcessesOwn) {
  void* const closed = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(end_of([&] { *static_cast<volatile char*>(closed) = 1; }), SIGSEGV);
  munmap(closed, 4096);
  EXPECT_EQ(memory.fault, static_cast<std::uint32_t>(SIGSEGV));
  EXPECT_EQ(memory.sent_signal, 0u);
}

TEST_F(FaultNotesTest, SoIsAnAbort) {
  EXPECT_EQ(end_of([] { std::abort(); }), SIGABRT);
  EXPECT_EQ(memory.fault, static_cast<std::uint32_t>(SIGABRT));
  EXPECT_EQ(memory.sent_signal, 0u);
}

TEST_F(FaultNotesTest, ASignalThatAnotherProcessSendsIsNot) {
  EXPECT_EQ(end_of([] {
              if (fork() == 0) {
                kill(getppid(), SIGSEGV);
                _exit(0);
              }
              while (true) pause();
            }),
            SIGSEGV);
  EXPECT_EQ(memory.fault, 0u);
  EXPECT_EQ(memory.sent_signal, static_cast<std::uint32_t>(SIGSEGV));
}

}  // namespace
}  // namespace winnow
