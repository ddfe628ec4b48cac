#include "fs/state_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cache/result.h"
#include "tests/cache/as_nobody.h"
#include "tests/cache/temporary_folder.h"
#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

std::string complaint(const std::string& path) {
  try {
    const StateDir state(path);
    return "";
  } catch (const StartupError& error) {
    return error.what();
  }
}

void write_catalogue_into(const StateDir& state, const std::string& source = "dir:/data") {
  write_catalogue(state.catalogue_path(), ListingBuilder().file("a").listing(), nullptr, {.source = source});
}

TEST(StateDir, IsMadeForItsOwnerAlone) {
  const TemporaryFolder folder;
  const StateDir state(folder / "deep/state");
  struct stat found {};
  ASSERT_EQ(stat(state.path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
}

TEST(StateDir, ASecondDaemonIsKeptOutAndToldWhoHasIt) {
  const TemporaryFolder folder;
  const StateDir state(folder / "state");
  const std::string text = complaint(folder / "state");
  EXPECT_NE(text.find("in use by another winnow"), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(getpid())), std::string::npos) << text;
  EXPECT_NE(text.find("--state-dir"), std::string::npos) << text;
  EXPECT_TRUE(folder.has("state/lock")) << "the second took the first one's lock away";
}

TEST(StateDir, IsFreeAgainAfterwards) {
  const TemporaryFolder folder;
  { const StateDir state(folder / "state"); }
  EXPECT_EQ(complaint(folder / "state"), "");
}

TEST(StateDir, LeavesNothingIfNothingCameOfIt) {
  const TemporaryFolder folder;
  { const StateDir state(folder / "state"); }
  EXPECT_TRUE(folder.empty());
  folder.folder("mine");
  { const StateDir state(folder / "mine"); }
  EXPECT_TRUE(folder.has("mine")) << "a folder that was there before stays";
  EXPECT_TRUE(std::filesystem::is_empty(folder / "mine"));
}

TEST(StateDir, RefusesAFolderOfOtherFilesAndLeavesItAsItIs) {
  const TemporaryFolder folder;
  folder.file("notes/journal", "dear diary");
  folder.file("notes/winnow.log", "somebody's log");
  const std::string text = complaint(folder / "notes");
  EXPECT_NE(text.find("--state-dir"), std::string::npos) << text;
  EXPECT_FALSE(folder.has("notes/lock"));
  EXPECT_EQ(folder.content("notes/journal"), "dear diary");
  EXPECT_EQ(folder.content("notes/winnow.log"), "somebody's log");
}

TEST(StateDir, KeepsItsCatalogueWhenTold) {
  const TemporaryFolder folder;
  {
    StateDir state(folder / "state");
    EXPECT_FALSE(state.has_catalogue());
    write_catalogue_into(state);
    EXPECT_TRUE(state.has_catalogue());
    state.keep();
  }
  const StateDir again(folder / "state");
  ASSERT_TRUE(again.has_catalogue());
  EXPECT_TRUE(at_path(*again.open_tree(), "a"));
}

TEST(StateDir, ACatalogueThatNoMountCameOfIsNotKept) {
  const TemporaryFolder folder;
  {
    const StateDir state(folder / "new/state");
    write_catalogue_into(state);
  }
  EXPECT_TRUE(folder.empty()) << "a start that failed left something behind";
}

TEST(StateDir, ACatalogueOfAnEarlierRunStaysWhateverBecomesOfThisOne) {
  const TemporaryFolder folder;
  {
    StateDir state(folder / "state");
    write_catalogue_into(state);
    state.keep();
  }
  const std::string before = folder.content("state/catalogue");
  { const StateDir state(folder / "state"); }
  EXPECT_EQ(folder.content("state/catalogue"), before);
}

TEST(StateDir, RefusesTheCatalogueOfAnotherSource) {
  const TemporaryFolder folder;
  const StateDir state(folder / "state");
  write_catalogue_into(state, "dir:/theirs");
  const auto tree = state.open_tree();
  EXPECT_NO_THROW(state.check_source(*tree, "dir:/theirs"));
  try {
    state.check_source(*tree, "dir:/ours");
    FAIL() << "took a foreign catalogue";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find("/theirs"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("--state-dir"), std::string::npos) << error.what();
  }
}

TEST(StateDir, ACorruptCatalogueIsToldAndKept) {
  const TemporaryFolder folder;
  folder.file("state/lock");
  folder.file("state/catalogue", "rubbish");
  {
    const StateDir state(folder / "state");
    EXPECT_THROW(state.open_tree(), StartupError);
  }
  EXPECT_EQ(folder.content("state/catalogue"), "rubbish");
}

TEST(StateDir, APlaceThatCannotBeMadeOrWrittenIsToldWithWhatToDo) {
  const TemporaryFolder folder;
  folder.file("file");
  EXPECT_NE(complaint(folder / "file/state").find("--state-dir"), std::string::npos);
  folder.folder("closed");
  chmod(folder.path().c_str(), 0755);
  chmod((folder / "closed").c_str(), 0555);
  const AsNobody nobody;
  EXPECT_NE(complaint(folder / "closed").find("--state-dir"), std::string::npos);
  EXPECT_NE(complaint(folder / "closed/state").find("--state-dir"), std::string::npos);
}

TEST(StateDir, TheDefaultPlaceIsStableAndItsOwnForEachMount) {
  const std::string one = StateDir::default_path("/data", "/mnt");
  EXPECT_EQ(one, StateDir::default_path("/data", "/mnt"));
  EXPECT_NE(one, StateDir::default_path("/data", "/mnt2"));
  EXPECT_NE(one, StateDir::default_path("/data2", "/mnt"));
  EXPECT_EQ(one[0], '/');
}

}  // namespace
}  // namespace winnow
