// A process that writes to the tier is killed at any moment, again and again; after each death everything the
// tier says it has is right, and the budget holds. WINNOW_DISK_KILLS=100 is the long form.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "tests/cache/disk/disk_fixture.h"

namespace winnow {
namespace {

constexpr std::uint64_t kBudget = 6 << 20;

std::vector<FileRef> files_of_a_round(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<FileRef> files;
  for (std::uint64_t id = 1; id <= 150; ++id) {
    const std::uint64_t size = random() % 15 == 0 ? random() % 2'000'000 : 1 + random() % 120'000;
    files.push_back(file_ref(id, size, 1 + id % 3));
  }
  return files;
}

// Writes and removes without end, a byte down the pipe for each step.
[[noreturn]] void write_until_killed(const std::string& folder, const std::vector<FileRef>& files,
                                     unsigned seed, int pipe_end) {
  DiskOptions options = disk_options(folder, kBudget);
  options.store.lock_patience = std::chrono::seconds(10);
  DiskTier tier(std::move(options));
  adopt_all(tier, files);
  std::mt19937 random(seed);
  while (true) {
    const FileRef& file = files[random() % files.size()];
    if (random() % 20 == 0) tier.remove(file);
    tier.write(file, 0, content_of(file));
    if (random() % 10 == 0) tier.flush();
    if (write(pipe_end, "x", 1) != 1) _exit(1);
  }
}

void wait_for_steps(int pipe_end, std::size_t steps) {
  char byte = 0;
  while (steps-- > 0 && read(pipe_end, &byte, 1) == 1) continue;
}

TEST(DiskKill, EveryByteIsRightAfterEachOfManyDeaths) {
  const char* wanted = getenv("WINNOW_DISK_KILLS");
  const int kills = wanted != nullptr ? atoi(wanted) : 15;
  const TemporaryFolder folder;
  const std::vector<FileRef> files = files_of_a_round(1);
  std::mt19937 random(static_cast<unsigned>(kills));
  std::uint64_t held = 0, torn = 0;
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const unsigned seed = random();
    const pid_t child = fork();
    if (child == 0) write_until_killed(folder.path(), files, seed, ends[1]);
    close(ends[1]);
    wait_for_steps(ends[0], 1 + random() % 300);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[0]);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
    ASSERT_LE(blocks_of(folder.path()), kBudget);
    DiskTier tier(disk_options(folder.path(), kBudget));
    adopt_all(tier, files);
    for (const FileRef& file : files) {
      const auto bytes = tier.read(file);
      if (!bytes) continue;
      ASSERT_EQ(text_of(*bytes), text_of(content_of(file)));
      ++held;
    }
    torn += tier.counts().torn;
    ASSERT_LE(tier.counts().bytes_on_disk, kBudget);
  }
  printf("%d kills: %lu samples read back right, %lu torn slots known for what they were\n", kills,
         static_cast<unsigned long>(held), static_cast<unsigned long>(torn));
  EXPECT_GT(held, static_cast<std::uint64_t>(kills)) << "hardly anything survives";
}

}  // namespace
}  // namespace winnow
