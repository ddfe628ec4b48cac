#include "cache/s3/key_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

namespace winnow::s3 {
namespace {

ListedObject object(std::string key, std::uint64_t size = 1, std::int64_t modified = 100) {
  return {.key = std::move(key), .size = size, .modified = modified, .etag = "e"};
}

struct Shown {
  std::map<std::string, bool> paths;  // path to whether it is a folder
  Listing listing;
};

Shown show(std::vector<ListedObject> objects, const std::string& prefix = "") {
  Shown shown{.listing = make_tree(std::move(objects), prefix)};
  std::vector<std::string> path_of(shown.listing.entries.size());
  for (std::size_t i = 1; i < shown.listing.entries.size(); ++i) {
    const ListedEntry& entry = shown.listing.entries[i];
    EXPECT_LT(entry.folder, i);
    path_of[i] =
        (entry.folder == 0 ? "" : path_of[entry.folder] + "/") + std::string(shown.listing.name(entry));
    EXPECT_TRUE(shown.paths.emplace(path_of[i], S_ISDIR(entry.stat.mode)).second) << path_of[i] << " twice";
  }
  return shown;
}

using Paths = std::map<std::string, bool>;

TEST(KeyTree, MakesFoldersOfSlashes) {
  EXPECT_EQ(show({object("b"), object("a/x"), object("a/y/z")}).paths,
            (Paths{{"b", false}, {"a", true}, {"a/x", false}, {"a/y", true}, {"a/y/z", false}}));
}

TEST(KeyTree, AKeyThatWasListedTwiceIsOneFile) {
  EXPECT_EQ(show({object("a/x"), object("b"), object("a/x", 2)}).paths,
            (Paths{{"a", true}, {"a/x", false}, {"b", false}}));
}

TEST(KeyTree, LeavesThePrefixOut) {
  EXPECT_EQ(show({object("p/"), object("p/a/b")}, "p/").paths, (Paths{{"a", true}, {"a/b", false}}));
}

TEST(KeyTree, AMarkerIsAFolderAlsoWhenItIsEmpty) {
  const auto shown = show({object("empty/", 0), object("full/", 0), object("full/x")});
  EXPECT_EQ(shown.paths, (Paths{{"empty", true}, {"full", true}, {"full/x", false}}));
  EXPECT_EQ(shown.listing.left_out, LeftOut{});
}

TEST(KeyTree, OddNamesAreShownAsTheyAre) {
  const std::vector<std::string> names = {"with space", "per%cent", "pl+us",    "\xe6\xbc\xa2",
                                          "new\nline",  "\x01\x7f", "\xff\xfe", " ",
                                          "...",        "-",        "~",        std::string(255, 'n')};
  std::vector<ListedObject> objects;
  for (const auto& name : names) objects.push_back(object("d/" + name));
  const auto shown = show(objects);
  EXPECT_EQ(shown.paths.size(), names.size() + 1);
  for (const auto& name : names) EXPECT_TRUE(shown.paths.contains("d/" + name)) << name;
}

TEST(KeyTree, WhatNoFileCanBeCalledIsCountedByReasonAndNamed) {
  using namespace std::string_literals;
  const auto shown =
      show({object("/lead"), object("a//b"), object("//"), object("x/./y"), object("../up"), object("."),
            object(std::string(256, 'n')), object("d/" + std::string(300, 'n') + "/f"), object("nul\0l"s),
            object(".winnow"), object(".winnow/x"), object("sub/.winnow")});
  EXPECT_EQ(shown.paths, (Paths{{"sub", true}, {"sub/.winnow", false}}));
  EXPECT_EQ(shown.listing.left_out,
            (LeftOut{.reserved = 2, .empty_names = 3, .dot_names = 3, .long_names = 2, .nul_names = 1}));
  EXPECT_EQ(shown.listing.skipped.size(), total(shown.listing.left_out));
}

TEST(KeyTree, AFolderHidesTheFileOfItsName) {
  // '!' sorts before '/', '0' behind it: the folder must be found wherever it comes in the order.
  const auto shown = show({object("a"), object("a!"), object("a/b"), object("a0"), object("m/", 3)});
  EXPECT_EQ(shown.paths, (Paths{{"a", true}, {"a!", false}, {"a/b", false}, {"a0", false}, {"m", true}}));
  EXPECT_EQ(shown.listing.left_out, LeftOut{.shadowed = 2});
  EXPECT_EQ(shown.listing.skipped[0].name, "m/");
  EXPECT_EQ(shown.listing.skipped[1].name, "a");
}

TEST(KeyTree, AFolderThatHoldsOnlySkippedKeysIsNotShown) {
  EXPECT_EQ(show({object("a/../b"), object("c//d")}).paths, Paths{});
}

TEST(KeyTree, AFolderIsAsOldAsTheNewestBelowIt) {
  const Listing listing = make_tree({object("a/b/c", 1, 300), object("a/d", 1, 200)}, "");
  for (const ListedEntry& entry : listing.entries) {
    if (S_ISDIR(entry.stat.mode)) {
      EXPECT_EQ(entry.stat.version.mtime.seconds, 300);
    }
  }
}

TEST(KeyTree, FilesAreReadOnlyAndFoldersCanBeEntered) {
  const Listing listing = make_tree({object("a/b")}, "");
  EXPECT_EQ(listing.entries[1].stat.mode, static_cast<mode_t>(S_IFDIR | 0555));
  EXPECT_EQ(listing.entries[2].stat.mode, static_cast<mode_t>(S_IFREG | 0444));
}

TEST(KeyTree, NamesOfSkippedKeysAreBounded) {
  std::vector<ListedObject> objects;
  for (std::size_t i = 0; i < kMaxSkippedNames + 10; ++i) objects.push_back(object("/" + std::to_string(i)));
  const Listing listing = make_tree(std::move(objects), "");
  EXPECT_EQ(listing.left_out.empty_names, kMaxSkippedNames + 10);
  EXPECT_EQ(listing.skipped.size(), kMaxSkippedNames);
}

}  // namespace
}  // namespace winnow::s3
