#include "fs/snapshot_diff.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

struct SnapshotDiffTest : testing::Test {
  // What changes from one listing to the next, names as "folder path/name".
  void compare(const ListingBuilder& first, const ListingBuilder& second) {
    before = maker.tree(first);
    after = maker.tree(second, before.get());
    take(changes_between(*before, *after));
  }
  void take(KernelChanges found) {
    changes = std::move(found);
    names.clear();
    folders.clear();
    for (const auto& [folder, name] : changes.names)
      EXPECT_TRUE(names.insert(before->path(*before->find(folder)) + "/" + name).second)
          << name << " told twice";
    for (const NodeId folder : changes.folders)
      EXPECT_TRUE(folders.insert(before->path(*before->find(folder))).second) << "a folder told twice";
  }
  using Set = std::set<std::string>;

  SnapshotMaker maker;
  std::shared_ptr<Tree> before;
  std::shared_ptr<Tree> after;
  KernelChanges changes;
  Set names;
  Set folders;
};

TEST_F(SnapshotDiffTest, NothingChangedTellsNothing) {
  const auto listing = ListingBuilder().folder("d").file("d/a").symlink("a", "l");
  compare(listing, listing);
  EXPECT_TRUE(changes.names.empty());
  EXPECT_TRUE(changes.folders.empty());
  EXPECT_EQ(changes.added + changes.removed + changes.changed, 0u);
}

TEST_F(SnapshotDiffTest, AnAddedFileTellsItsNameWhichMayBeRememberedAsMissing) {
  compare(ListingBuilder().folder("d"), ListingBuilder().folder("d").file("d/a"));
  EXPECT_EQ(names, Set{"d/a"});
  EXPECT_EQ(folders, Set{"d"});
  EXPECT_EQ(changes.added, 1u);
}

TEST_F(SnapshotDiffTest, ARemovedFileTellsItsName) {
  compare(ListingBuilder().folder("d").file("d/a").file("d/b"), ListingBuilder().folder("d").file("d/b"));
  EXPECT_EQ(names, Set{"d/a"});
  EXPECT_EQ(folders, Set{"d"});
  EXPECT_EQ(changes.removed, 1u);
}

TEST_F(SnapshotDiffTest, AChangedFileTellsItsName) {
  auto second = ListingBuilder().folder("d").file("d/a");
  second.change("d/a");
  compare(ListingBuilder().folder("d").file("d/a"), second);
  EXPECT_EQ(names, Set{"d/a"});
  EXPECT_EQ(changes.changed, 1u);
  EXPECT_EQ(changes.added + changes.removed, 0u);
}

TEST_F(SnapshotDiffTest, AFolderWithOtherAttributesIsToldItself) {
  auto second = ListingBuilder().folder("d").folder("e");
  second.stat("d").mode = S_IFDIR | 0700;
  compare(ListingBuilder().folder("d").folder("e"), second);
  EXPECT_TRUE(names.empty());
  EXPECT_EQ(folders, Set{"d"});
}

TEST_F(SnapshotDiffTest, TheRootsOwnAttributesAreTold) {
  ListingBuilder second;
  second.stat("").mode = S_IFDIR | 0700;
  compare(ListingBuilder(), second);
  EXPECT_EQ(folders, Set{""});
}

TEST_F(SnapshotDiffTest, AnAddedFolderCountsAllThatIsInIt) {
  compare(ListingBuilder(), ListingBuilder().folder("d").folder("d/e").file("d/e/a").file("d/b"));
  EXPECT_EQ(names, Set{"/d"});
  EXPECT_EQ(changes.added, 4u);
}

TEST_F(SnapshotDiffTest, ARemovedFolderCountsAllThatWasInIt) {
  compare(ListingBuilder().folder("d").folder("d/e").file("d/e/a").file("d/b"), ListingBuilder());
  EXPECT_EQ(names, Set{"/d"});
  EXPECT_EQ(changes.removed, 4u);
}

TEST_F(SnapshotDiffTest, AFolderInAFilesPlaceIsARemovalAndAnAddition) {
  compare(ListingBuilder().file("x"), ListingBuilder().folder("x").file("x/a"));
  EXPECT_EQ(names, Set{"/x"});
  EXPECT_EQ(changes.removed, 1u);
  EXPECT_EQ(changes.added, 2u);
  EXPECT_EQ(changes.changed, 0u);
}

TEST_F(SnapshotDiffTest, AmendmentsAreWhatTheKernelKnows) {
  const auto listing = ListingBuilder().file("a").file("b");
  before = maker.tree(listing);
  auto now = ListingBuilder().file("a").file("b");
  now.change("a");
  before->amend(NodeId{id_at(*before, "a")}, now.stat("a"));
  before->amend(NodeId{id_at(*before, "b")}, std::nullopt);
  after = maker.tree(now, before.get());
  take(changes_between(*before, *after));
  EXPECT_EQ(names, Set{"/b"}) << "a was told when it was amended; b is back from nowhere";
  EXPECT_EQ(changes.added, 1u);
}

TEST_F(SnapshotDiffTest, ADeepChangeTellsOnlyItsOwnFolder) {
  auto second = ListingBuilder().folder("a").folder("a/b").folder("a/b/c").file("a/b/c/f").file("a/x");
  second.change("a/b/c/f");
  compare(ListingBuilder().folder("a").folder("a/b").folder("a/b/c").file("a/b/c/f").file("a/x"), second);
  EXPECT_EQ(names, Set{"a/b/c/f"});
  EXPECT_EQ(folders, Set{"a/b/c"});
}

}  // namespace
}  // namespace winnow
