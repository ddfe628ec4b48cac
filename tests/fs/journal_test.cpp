#include "fs/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "cache/result.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

constexpr std::size_t kRecordBytes = 96;

Amendment amendment(std::uint32_t row, std::uint64_t id) {
  return {.row = row,
          .id = id,
          .stat = {
              .mode = 0100644,
              .uid = 12,
              .gid = 13,
              .links = 14,
              .version = {.tag = UINT64_MAX, .device = 16, .size = 17, .mtime = {-18, 19}, .ctime = {20, 21}},
              .birth = {22, 23}}};
}

struct JournalTest : testing::Test {
  std::string path() const { return folder / "journal"; }
  std::vector<Amendment> recovered(std::uint64_t snapshot = 1) const {
    return Journal(path(), snapshot).recovered();
  }
  TemporaryFolder folder;
};

TEST_F(JournalTest, ANewOneIsEmpty) { EXPECT_TRUE(recovered().empty()); }

TEST_F(JournalTest, GivesBackWhatWasAppendedInOrder) {
  {
    Journal journal(path(), 1);
    journal.append(amendment(5, 100));
    journal.append(amendment(6, 0));
  }
  const auto found = recovered();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].row, 5u);
  EXPECT_EQ(found[0].id, 100u);
  EXPECT_EQ(found[0].stat.mode, 0100644u);
  EXPECT_EQ(found[0].stat.uid, 12u);
  EXPECT_EQ(found[0].stat.gid, 13u);
  EXPECT_EQ(found[0].stat.links, 14u);
  EXPECT_EQ(found[0].stat.version, amendment(5, 100).stat.version);
  EXPECT_EQ(found[0].stat.birth, amendment(5, 100).stat.birth);
  EXPECT_EQ(found[1].row, 6u);
  EXPECT_EQ(found[1].id, 0u);
}

TEST_F(JournalTest, IsAppendedToAfterARestart) {
  Journal(path(), 1).append(amendment(5, 100));
  Journal(path(), 1).append(amendment(6, 101));
  EXPECT_EQ(recovered().size(), 2u);
}

TEST_F(JournalTest, AnotherSnapshotsIsBegunAnew) {
  Journal(path(), 1).append(amendment(5, 100));
  EXPECT_TRUE(recovered(2).empty());
  EXPECT_TRUE(recovered(1).empty()) << "the first snapshot's records came back";
}

TEST_F(JournalTest, ATornTailIsIgnoredAndOverwritten) {
  {
    Journal journal(path(), 1);
    journal.append(amendment(5, 100));
    journal.append(amendment(6, 101));
  }
  for (std::size_t cut = 1; cut < kRecordBytes; cut += 19) {
    std::filesystem::resize_file(path(), 3 * kRecordBytes - cut);
    ASSERT_EQ(recovered().size(), 1u) << cut;
    Journal(path(), 1).append(amendment(6, 101));
    ASSERT_EQ(recovered().size(), 2u) << cut;
  }
}

TEST_F(JournalTest, AFlippedByteEndsWhatIsBelieved) {
  {
    Journal journal(path(), 1);
    for (std::uint32_t row = 1; row <= 3; ++row) journal.append(amendment(row, row + 100));
  }
  const std::string good = folder.content("journal");
  for (std::size_t at = 0; at < good.size(); at += 3) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    folder.overwrite("journal", bad);
    const std::size_t whole = at / kRecordBytes;  // the opening record and those after it
    ASSERT_EQ(recovered().size(), whole == 0 ? 0 : whole - 1) << "byte " << at;
  }
}

TEST_F(JournalTest, AForeignFileIsBegunAnew) {
  folder.file("journal",
              "something else entirely, and long enough to be taken for a record or even for two of them; "
              "but it is text, and no journal at all.");
  EXPECT_TRUE(recovered().empty());
  Journal(path(), 1).append(amendment(1, 2));
  EXPECT_EQ(recovered().size(), 1u);
}

TEST_F(JournalTest, ARecordCutOffByAFullDiskCostsNoLaterOne) {
  {
    Journal journal(path(), 1);
    journal.append(amendment(1, 101));
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{2 * kRecordBytes + 40, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
    journal.append(amendment(2, 102));
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    journal.append(amendment(3, 103));
  }
  const auto found = recovered();
  ASSERT_EQ(found.size(), 2u) << "what cannot be written is lost with the process, no more";
  EXPECT_EQ(found[1].id, 103u);
}

TEST_F(JournalTest, AFileThatCannotBeOpenedIsToldByName) {
  try {
    Journal journal(folder / "none/journal", 1);
    FAIL() << "opened";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find(folder / "none/journal"), std::string::npos);
  }
}

}  // namespace
}  // namespace winnow
