#include "fs/order_file.h"

#include <gtest/gtest.h>

#include "cache/directory_source.h"
#include "fs/snapshots.h"
#include "fs/state_dir.h"
#include "tests/cache/temporary_folder.h"
#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

struct OrderFileTest : testing::Test {
  OrderFileTest() {
    for (const char* name : {"a/one", "a/two", "b/with, comma"}) folder.file(name, "x");
    take_snapshot(source, state, false, nullptr, progress);
    tree = state.open_tree();
  }
  std::string file(const std::string& text) {
    lists.file("list", text);
    return lists / "list";
  }
  SampleId id(const std::string& path) const { return sample_of(at_path(*tree, path)->id); }
  std::string refusal(const std::string& text, bool scores = false) {
    try {
      if (scores) {
        read_scores(file(text), *tree, "/mnt/x");
      } else {
        read_order(file(text), *tree, "/mnt/x");
      }
      return "";
    } catch (const StartupError& error) {
      return error.what();
    }
  }
  TemporaryFolder folder;
  TemporaryFolder lists;
  TemporaryFolder state_folder;
  DirectorySource source{folder.path(), false};
  StateDir state{state_folder.path()};
  ScanProgress progress;
  std::shared_ptr<Tree> tree;
};

TEST_F(OrderFileTest, NamesFilesByTheirPathInTheMountOrBelowTheMountpoint) {
  const auto order = read_order(file("a/two\n/mnt/x/a/one\r\n\nb/with, comma"), *tree, "/mnt/x");
  EXPECT_EQ(order, (std::vector<SampleId>{id("a/two"), id("a/one"), id("b/with, comma")}));
}

TEST_F(OrderFileTest, RefusesAllOfItForOneBadLineAndNamesTheLine) {
  EXPECT_NE(refusal("a/one\na/three\n").find("line 2: the mount has no file 'a/three'"), std::string::npos);
  EXPECT_NE(refusal("a\n").find("line 1"), std::string::npos) << "a folder";
  EXPECT_NE(refusal("a/one\na/two\na/one\n").find("line 3: 'a/one' is named twice"), std::string::npos);
  EXPECT_NE(refusal("\n\n").find("names no file"), std::string::npos);
}

TEST_F(OrderFileTest, AScoresRankBecomesTheImportance) {
  const auto scores = read_scores(file("path,score\na/one,0.5\nb/with, comma,9\na/two,-1\n"), *tree, "/mnt/x");
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_EQ(scores[0], std::pair(id("a/one"), 0.5));
  EXPECT_EQ(scores[1], std::pair(id("b/with, comma"), 1.0));
  EXPECT_EQ(scores[2], std::pair(id("a/two"), 0.0));
  EXPECT_EQ(read_scores(file("\"b/with, comma\",9\n"), *tree, "/mnt/x").at(0).first, id("b/with, comma"));
  EXPECT_NE(refusal("\"a\"\"b\",1\n", true).find("no file 'a\"b'"), std::string::npos);
  EXPECT_NE(refusal("\"a\"\",1\n", true).find("no file '\"a\"\"'"), std::string::npos) << "the quote does not end";
}

TEST_F(OrderFileTest, AScoreIsANumber) {
  EXPECT_NE(refusal("a/one,high\n", true).find("line 1: 'a/one,high' is not path,score"), std::string::npos);
  EXPECT_NE(refusal("a/one\n", true).find("line 1"), std::string::npos);
  EXPECT_NE(refusal("a/one,nan\n", true).find("line 1"), std::string::npos);
}

}  // namespace
}  // namespace winnow
