#include "fs/survival.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "cache/page_counts.h"
#include "cache/result.h"

namespace winnow {
namespace {

TEST(SurvivalMemory, IsWhatTheNextWorkerFinds) {
  const FileDescriptor fd = make_survival_memory();
  MappedSurvival(fd.get()).get().deaths = 7;
  EXPECT_EQ(MappedSurvival(fd.get()).get().deaths, 7u);
}

TEST(SurvivalMemory, OfAnotherLayoutIsRefused) {
  const FileDescriptor fd = make_survival_memory();
  MappedSurvival(fd.get()).get().version = SurvivalMemory::kVersion + 1;
  EXPECT_THROW(MappedSurvival(fd.get()), StartupError);
}

TEST(SurvivalMemory, ANewConnectionStartsWithoutRequestsAndPages) {
  const FileDescriptor fd = make_survival_memory();
  MappedSurvival survival(fd.get());
  SurvivalMemory& memory = survival.get();
  memory.init_reply_size = 1;
  memory.served[3] = 8;
  memory.suspects[2].unique = 8;
  PageCounts(fd.get(), kLedgerOffset).set(SampleId{5}, 6);
  forget_connection(memory, fd.get());
  EXPECT_EQ(memory.init_reply_size, 0u);
  EXPECT_EQ(memory.served[3], 0u);
  EXPECT_EQ(memory.suspects[2].unique, 0u);
  EXPECT_EQ(PageCounts(fd.get(), kLedgerOffset).get(SampleId{5}), 0u);
}

struct LifeLineTest : testing::Test {
  LifeLineTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    holder.reset(ends[0]);
    worker.reset(ends[1]);
  }
  // The next word at the holder's end; 0 for its end.
  static char next(const FileDescriptor& end) {
    pollfd readable{end.get(), POLLIN, 0};
    char word = 0;
    return poll(&readable, 1, 10'000) > 0 && recv(end.get(), &word, 1, 0) == 1 ? word : '\0';
  }
  FileDescriptor memory_fd = make_survival_memory();
  MappedSurvival survival{memory_fd.get()};
  FileDescriptor holder;
  FileDescriptor worker;
};

TEST_F(LifeLineTest, CarriesWordsBeforeAndAfterItStarts) {
  LifeLine life(std::move(worker), survival.get());
  life.say('a');
  EXPECT_EQ(next(holder), 'a');
  life.start({}, [] { return FileDescriptor(); });
  life.say('b');
  EXPECT_EQ(next(holder), 'b');
}

TEST_F(LifeLineTest, EndsWithItsThreadThoughOthersLive) {
  {
    LifeLine life(std::move(worker), survival.get());
    life.start({}, [] { return FileDescriptor(); });
  }
  EXPECT_EQ(next(holder), '\0');
}

TEST_F(LifeLineTest, IsRenewedWhenTheHolderIsGone) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const FileDescriptor next_holder(ends[0]);
  LifeLine life(std::move(worker), survival.get());
  life.start({ends[1]}, [&] { return FileDescriptor(ends[1]); });
  close(ends[1]);  // this thread's
  holder.reset();
  life.say('c');
  // The word may have gone to the old end; one after the renewal does not.
  while (next_holder && recv(next_holder.get(), ends, 1, MSG_DONTWAIT) != 1) life.say('d');
}

}  // namespace
}  // namespace winnow
