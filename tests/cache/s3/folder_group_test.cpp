#include "cache/s3/folder_group.h"

#include <gtest/gtest.h>

namespace winnow::s3 {
namespace {

using Names = std::vector<std::string>;

struct Taken {
  Names keys;
  bool ended;
};

Taken take(FolderGroup& group, const Names& keys) {
  ListPage page;
  for (const std::string& key : keys) page.objects.push_back({.key = key});
  const bool ended = group.take(page);
  Names left;
  for (const ListedObject& object : page.objects) left.push_back(object.key);
  return {left, ended};
}

TEST(FolderGroup, BeginsJustBeforeTheFirstFolder) {
  const std::string before = FolderGroup("p/", {"p/d/", "p/e/"}).start_after();
  EXPECT_LT(before, "p/d/") << "the folder's own marker is a key";
  for (const char* earlier : {"p/d", "p/d-1/x", "p/d.jpg", "p/d.old/x", "p/d.\xef\xbf\xbd/x"})
    EXPECT_GT(before, earlier);
  EXPECT_LE(FolderGroup("", {std::string(1023, 'x') + "/"}).start_after().size(), 1024u);
}

TEST(FolderGroup, KeepsItsOwnKeys) {
  FolderGroup group("p/", {"p/d.x/", "p/d/", "p/e/"});
  const Taken taken = take(group, {"p/d.x", "p/d.x-/1", "p/d.x/", "p/d.x/1", "p/d/1/2", "p/d0", "p/e",
                                   "p/e/1", "p/e0", "p/e0/1"});
  EXPECT_EQ(taken.keys, (Names{"p/d.x/", "p/d.x/1", "p/d/1/2", "p/e/1"}));
  EXPECT_TRUE(taken.ended);
  EXPECT_TRUE(group.unseen().empty());
}

TEST(FolderGroup, GoesOnUntilAKeyBehindItsEnd) {
  FolderGroup group("", {"a/", "b/"});
  EXPECT_FALSE(take(group, {"a/1"}).ended);
  EXPECT_FALSE(take(group, {}).ended);
  EXPECT_FALSE(take(group, {"b/1", "b/2"}).ended);
  EXPECT_TRUE(take(group, {"b0"}).ended);
}

TEST(FolderGroup, TellsTheFoldersThatHadNoKey) {
  FolderGroup group("", {"a/", "b/", "c/", "d/"});
  take(group, {"b/1", "b/2"});
  EXPECT_EQ(group.unseen(), (std::deque<std::string>{"a/", "c/", "d/"}));
}

TEST(FolderGroup, GivesHalfOfWhatWasNotReachedAway) {
  FolderGroup group("", {"a/", "b/", "c/", "d/", "e/"});
  take(group, {"a/1", "a/2"});
  auto half = group.give_half();
  ASSERT_TRUE(half);
  EXPECT_EQ(take(*half, {"c/9", "d/1", "e/1", "f"}).keys, (Names{"d/1", "e/1"}));
  const Taken rest = take(group, {"b/1", "c/1", "d/1"});
  EXPECT_EQ(rest.keys, (Names{"b/1", "c/1"}));
  EXPECT_TRUE(rest.ended);
  EXPECT_FALSE(group.give_half()) << "all were reached";
}

TEST(FolderGroup, GivesTheLastOneToo) {
  FolderGroup group("", {"a/", "b/"});
  take(group, {"a/1"});
  EXPECT_EQ(group.give_half()->unseen(), std::deque<std::string>{"b/"});
  EXPECT_TRUE(take(group, {"a/2", "b/1"}).ended);
}

}  // namespace
}  // namespace winnow::s3
