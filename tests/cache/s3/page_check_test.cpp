#include "cache/s3/page_check.h"

#include <gtest/gtest.h>

namespace winnow::s3 {
namespace {

ListPage page(std::vector<std::string> keys, std::vector<std::string> folders = {}, std::string next = "") {
  ListPage made;
  for (std::string& key : keys) made.objects.push_back({.key = std::move(key)});
  made.prefixes = std::move(folders);
  if (!next.empty()) made.next = std::move(next);
  return made;
}

std::string said_of(std::vector<ListPage> pages, const std::string& start_after = "") {
  PageCheck check("p/", start_after);
  std::string said;
  for (ListPage& one : pages)
    if (said.empty()) said = check.take(one);
  return said;
}

TEST(PageCheck, AcceptsWhatIsInOrder) {
  const ListPage first = page({"p/", "p/a", "p/a-b"}, {"p/a.b/", "p/a/"}, "1");
  EXPECT_EQ(said_of({first, page({}, {}, "2"), page({"p/b"})}), "");
  EXPECT_EQ(said_of({page({"p/\x7f", "p/\xc3\xbc", "p/\xff"})}), "") << "bytes are not signed";
}

TEST(PageCheck, TakesOutWhatCameTwice) {
  PageCheck check("p/", "");
  ListPage first = page({"p/a", "p/a"}, {"p/d/"}, "1");
  ListPage second = page({"p/a", "p/b"}, {"p/d/", "p/e/"});
  EXPECT_EQ(check.take(first), "");
  EXPECT_EQ(check.take(second), "");
  ASSERT_EQ(first.objects.size() + second.objects.size(), 2u);
  EXPECT_EQ(second.objects[0].key, "p/b");
  EXPECT_EQ(second.prefixes, std::vector<std::string>{"p/e/"});
}

TEST(PageCheck, RefusesAnotherOrder) {
  const std::string expected = "the store does not list names in the order of their bytes";
  EXPECT_EQ(said_of({page({"p/b", "p/a"})}), expected);
  EXPECT_EQ(said_of({page({"p/b"}, {}, "1"), page({"p/a"})}), expected);
  EXPECT_EQ(said_of({page({}, {"p/a/", "p/a.b/"})}), expected) << "as a walk over files would have it";
  EXPECT_EQ(said_of({page({"p/a"})}, "p/b"), expected) << "start-after was not heeded";
}

TEST(PageCheck, RefusesNamesThatWereNotAskedFor) {
  EXPECT_EQ(said_of({page({"q/a"})}), "the store lists keys that were not asked for");
  const std::string expected = "the store lists folders that were not asked for";
  EXPECT_EQ(said_of({page({}, {"p/"})}), expected) << "it would be listed for ever";
  EXPECT_EQ(said_of({page({}, {"a/"})}), expected);
  EXPECT_EQ(said_of({page({}, {"p/a"})}), expected);
}

TEST(PageCheck, RefusesPagesWithoutEnd) {
  const std::string expected = "the store gives the same pages again and again";
  EXPECT_EQ(said_of({page({}, {}, "1"), page({}, {}, "1")}), expected);
  EXPECT_EQ(said_of({page({"p/a"}, {}, "1"), page({}, {}, "2"), page({}, {}, "1")}), expected);
  EXPECT_EQ(said_of({page({"p/a"}, {}, "1"), page({"p/a"}, {}, "1")}), expected) << "nothing new in it";
  EXPECT_EQ(said_of({page({"p/a"}, {}, "1"), page({"p/b"}, {}, "1")}), "") << "it goes on all the same";
}

}  // namespace
}  // namespace winnow::s3
