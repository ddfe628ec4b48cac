#include "fs/catalogue_writer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/cache/as_nobody.h"
#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

struct CatalogueWriterTest : testing::Test {
  SnapshotMaker maker;
};

TEST_F(CatalogueWriterTest, TheRootIsOneAndIdsFollow) {
  const auto tree = maker.tree(ListingBuilder().folder("d").file("d/a").file("b"));
  EXPECT_EQ(value(tree->root().id), 1u);
  EXPECT_EQ((std::set{id_at(*tree, "d"), id_at(*tree, "d/a"), id_at(*tree, "b")}),
            (std::set<std::uint64_t>{2, 3, 4}));
  EXPECT_EQ(tree->next_id(), 5u);
}

TEST_F(CatalogueWriterTest, WhatIsUnchangedKeepsItsId) {
  const auto listing = ListingBuilder().folder("d").file("d/a").symlink("d", "l").file("b");
  const auto one = maker.tree(listing);
  const auto two = maker.tree(listing, one.get());
  for (const char* path : {"", "d", "d/a", "l", "b"}) EXPECT_EQ(id_at(*one, path), id_at(*two, path)) << path;
  EXPECT_EQ(one->next_id(), two->next_id());
}

TEST_F(CatalogueWriterTest, WhatChangedGetsANewId) {
  const auto one = maker.tree(ListingBuilder().file("a").file("b").symlink("x", "l"));
  auto changed = ListingBuilder().file("a").file("b").symlink("y", "l");
  changed.change("a");
  const auto two = maker.tree(changed, one.get());
  EXPECT_GE(id_at(*two, "a"), one->next_id());
  EXPECT_EQ(id_at(*two, "b"), id_at(*one, "b"));
  EXPECT_GE(id_at(*two, "l"), one->next_id());
}

TEST_F(CatalogueWriterTest, EachPartOfTheVersionCounts) {
  const auto one = maker.tree(ListingBuilder().file("a"));
  const auto id_after = [&](auto&& change) {
    auto listing = ListingBuilder().file("a");
    change(listing.stat("a").version);
    return id_at(*maker.tree(listing, one.get()), "a");
  };
  const std::uint64_t same = id_at(*one, "a");
  EXPECT_EQ(id_after([](Version&) {}), same);
  EXPECT_NE(id_after([](Version& version) { ++version.size; }), same);
  EXPECT_NE(id_after([](Version& version) { ++version.tag; }), same);
  EXPECT_NE(id_after([](Version& version) { ++version.device; }), same);
  EXPECT_NE(id_after([](Version& version) { ++version.mtime.nanoseconds; }), same);
  EXPECT_NE(id_after([](Version& version) { ++version.ctime.seconds; }), same);
}

TEST_F(CatalogueWriterTest, AFolderKeepsItsIdWhateverHappensInIt) {
  const auto one = maker.tree(ListingBuilder().folder("d").file("d/a"));
  auto changed = ListingBuilder().folder("d").file("d/b");
  changed.change("d");
  changed.stat("d").mode = S_IFDIR | 0700;
  EXPECT_EQ(id_at(*maker.tree(changed, one.get()), "d"), id_at(*one, "d"));
}

TEST_F(CatalogueWriterTest, AFolderAndAFileThatSwapPlacesGetNewIds) {
  const auto one = maker.tree(ListingBuilder().folder("x").file("x/inner").file("y"));
  const auto two = maker.tree(ListingBuilder().file("x").folder("y").file("y/inner"), one.get());
  for (const char* path : {"x", "y", "y/inner"}) EXPECT_GE(id_at(*two, path), one->next_id()) << path;
  EXPECT_FALSE(two->find(NodeId{id_at(*one, "x/inner")}));
}

TEST_F(CatalogueWriterTest, ARemovedNameThatComesBackUnchangedIsNew) {
  const auto listing = ListingBuilder().file("a").file("b");
  const auto one = maker.tree(listing);
  const auto two = maker.tree(ListingBuilder().file("b"), one.get());
  const auto three = maker.tree(listing, two.get());
  EXPECT_NE(id_at(*three, "a"), id_at(*one, "a"));
  EXPECT_EQ(id_at(*three, "b"), id_at(*one, "b"));
}

TEST_F(CatalogueWriterTest, AmendedFilesKeepTheIdTheAmendmentGave) {
  const auto one = maker.tree(ListingBuilder().file("a").file("b"));
  auto changed = ListingBuilder().file("a").file("b");
  changed.change("a");
  const auto amended = one->amend(NodeId{id_at(*one, "a")}, changed.stat("a"));
  ASSERT_TRUE(amended);
  const auto two = maker.tree(changed, one.get());
  EXPECT_EQ(id_at(*two, "a"), value(amended->id));
  EXPECT_GT(two->next_id(), value(amended->id));
}

TEST_F(CatalogueWriterTest, HardLinksThatCameApartDoNotShareAnId) {
  auto linked = ListingBuilder().file("one").hard_link("one", "two");
  const auto before = maker.tree(linked);
  ASSERT_EQ(id_at(*before, "one"), id_at(*before, "two"));
  // Both copies look like the old file, as on storage that keeps every fact of a copy.
  ListingBuilder apart;
  FileStat stat = linked.stat("one");
  stat.links = 1;
  apart.file("one", stat).file("two", stat);
  const auto after = maker.tree(apart, before.get());
  EXPECT_NE(id_at(*after, "one"), id_at(*after, "two"));
  EXPECT_EQ((std::set{id_at(*after, "one"), id_at(*after, "two")}).count(id_at(*before, "one")), 1u);
}

TEST_F(CatalogueWriterTest, FilesThatBecameHardLinksShareTheIdOfOne) {
  ListingBuilder apart;
  FileStat stat = ListingBuilder().file("one").stat("one");
  apart.file("one", stat).file("two");
  const auto before = maker.tree(apart);
  ListingBuilder joined;
  stat.links = 2;
  joined.file("one", stat).file("two", stat);
  const auto after = maker.tree(joined, before.get());
  EXPECT_EQ(id_at(*after, "one"), id_at(*before, "one"));
  EXPECT_EQ(id_at(*after, "two"), id_at(*before, "one"));
}

TEST_F(CatalogueWriterTest, NoIdIsEverGivenTwiceOverManyGenerations) {
  std::mt19937 random(11);
  std::map<std::uint64_t, std::pair<std::string, Version>> owner_of;  // of ids of files
  std::map<std::uint64_t, std::string> folder_of;
  std::shared_ptr<Tree> previous;
  for (int generation = 0; generation < 12; ++generation) {
    ListingBuilder builder;
    std::vector<std::string> paths;
    for (int d = 0; d < 4; ++d) {
      const std::string name = "n" + std::to_string(d);
      if (random() % 4 == 0) {
        builder.file(name, random() % 3);
        paths.push_back(name);
        continue;
      }
      builder.folder(name);
      for (int f = 0; f < 10; ++f) {
        if (random() % 3 == 0) continue;
        const std::string path = name + "/f" + std::to_string(f);
        builder.file(path, random() % 3);
        paths.push_back(path);
      }
    }
    const auto tree = maker.tree(builder, previous.get());
    std::set<std::uint64_t> here;
    for (const std::string& path : paths) {
      const auto node = at_path(*tree, path);
      ASSERT_TRUE(node);
      ASSERT_TRUE(here.insert(value(node->id)).second) << "one id, two files";
      const auto [known, is_new] = owner_of.try_emplace(value(node->id), path, node->stat.version);
      ASSERT_EQ(known->second.first, path);
      ASSERT_EQ(known->second.second, node->stat.version) << "one id, two versions";
      ASSERT_FALSE(folder_of.contains(value(node->id)));
      if (is_new && previous) {
        ASSERT_GE(value(node->id), previous->next_id());
      }
    }
    for (int d = 0; d < 4; ++d) {
      const auto node = at_path(*tree, "n" + std::to_string(d));
      if (!is_folder(node->stat)) continue;
      ASSERT_EQ(folder_of.try_emplace(value(node->id), "n" + std::to_string(d)).first->second,
                "n" + std::to_string(d));
      ASSERT_FALSE(owner_of.contains(value(node->id)));
    }
    previous = tree;
  }
}

TEST_F(CatalogueWriterTest, LeavesNoOtherFileBehind) {
  maker.write(ListingBuilder().file("a").listing());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(maker.folder().path()), {}), 1);
}

TEST_F(CatalogueWriterTest, TheOldFileStaysWhenTheNewOneCannotBePutInItsPlace) {
  maker.write(ListingBuilder().file("a").listing());
  const std::string before = maker.folder().content("catalogue");
  maker.folder().folder("catalogue.new");  // where the new one is written first
  EXPECT_THROW(maker.write(ListingBuilder().file("b").listing()), StartupError);
  EXPECT_EQ(maker.folder().content("catalogue"), before);
}

TEST_F(CatalogueWriterTest, AFolderThatCannotBeWrittenIsToldWithWhatToDo) {
  chmod(maker.folder().path().c_str(), 0555);
  try {
    const AsNobody nobody;
    maker.write(ListingBuilder().listing());
    FAIL() << "wrote into a closed folder";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find("--state-dir"), std::string::npos) << error.what();
  }
  chmod(maker.folder().path().c_str(), 0755);
}

TEST_F(CatalogueWriterTest, OnlyItsOwnerMayReadACatalogue) {
  maker.write(ListingBuilder().file("a").listing());
  struct stat found {};
  ASSERT_EQ(::stat(maker.catalogue_path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace winnow
