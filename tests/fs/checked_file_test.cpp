#include "fs/checked_file.h"

#include <gtest/gtest.h>

#include "cache/result.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

TEST(CheckedFile, IsThereOnlyWhenCommitted) {
  const TemporaryFolder folder;
  {
    CheckedFile file(folder / "x");
    file.write("content", 7);
    file.checksum();
    EXPECT_FALSE(folder.has("x"));
    file.commit();
    EXPECT_EQ(folder.content("x"), "content");
  }
  EXPECT_EQ(folder.content("x"), "content");
}

TEST(CheckedFile, LeavesNothingAndTheOldOneWhenGivenUp) {
  const TemporaryFolder folder;
  folder.file("x", "old");
  {
    CheckedFile file(folder / "x");
    file.write("new", 3);
    file.checksum();
  }
  EXPECT_EQ(folder.content("x"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(CheckedFile, TheChecksumCoversAllButTheGapAtTheStart) {
  const TemporaryFolder folder;
  const std::string content = pattern(3 << 20);  // more than is gathered before it is written
  CheckedFile file(folder / "x");
  file.skip(4);
  for (std::size_t at = 0; at < content.size(); at += 100'000)
    file.write(content.data() + at, std::min<std::size_t>(100'000, content.size() - at));
  EXPECT_EQ(file.checksum(), XXH3_64bits(content.data(), content.size()));
  file.write_at_start("head", 4);
  file.commit();
  EXPECT_TRUE(folder.content("x") == "head" + content);
}

TEST(CheckedFile, AFolderThatIsMissingIsToldWithWhatToDo) {
  const TemporaryFolder folder;
  try {
    CheckedFile file(folder / "none/x");
    FAIL() << "made";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find(folder / "none/x"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("--state-dir"), std::string::npos);
  }
}

}  // namespace
}  // namespace winnow
