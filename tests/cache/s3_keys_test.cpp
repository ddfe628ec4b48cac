// Keys that are hard to sign, to list and to ask for again, put and read at a real store: the test origin, or
// the one that s3_storage.h is pointed at.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "tests/cache/answer.h"
#include "tests/cache/s3_storage.h"

namespace winnow {
namespace {

std::map<std::string, FileStat> paths_of(Source& source) {
  ScanProgress progress;
  const Listing listing = source.list(progress).value();
  std::vector<std::string> path_of(listing.entries.size());
  std::map<std::string, FileStat> found;
  for (std::size_t i = 1; i < listing.entries.size(); ++i) {
    const ListedEntry& entry = listing.entries[i];
    path_of[i] = (entry.folder == 0 ? "" : path_of[entry.folder] + "/") + std::string(listing.name(entry));
    if (S_ISREG(entry.stat.mode)) found[path_of[i]] = entry.stat;
  }
  return found;
}

TEST(S3Keys, ComeBackAsTheyWerePut) {
  S3Bucket bucket;
  const std::vector<std::string> keys = {"plain",      "with space", "per%cent",    "per%20cent",
                                         "pl+us",      "a&b=c",      "semi;colon:", "q?mark#hash",
                                         "(paren)!*'", "~tilde-_.",  "d i r/f+%x",  "\xc3\xbc\xe6\xbc\xa2",
                                         "quote\"<>",  "@$,"};
  for (const std::string& key : keys) bucket.put(key, "content of " + key);
  const auto found = paths_of(bucket.source());
  EXPECT_EQ(found.size(), keys.size());
  for (const std::string& key : keys) {
    ASSERT_TRUE(found.contains(key)) << key;
    const auto bytes = bucket.source().read(key, found.at(key).version, 0, 1000);
    ASSERT_TRUE(bytes.has_value()) << key << ": " << bytes.error().message();
    EXPECT_EQ(to_text(bytes.value()), "content of " + key);
  }
}

TEST(S3Keys, ManyPagesAreListedOnceEach) {
  S3Bucket bucket;
  std::map<std::string, int> expected;
  for (int i = 0; i < 25; ++i) expected["d" + std::to_string(i % 5) + "/" + std::to_string(i)] = i;
  for (const auto& [key, number] : expected)
    bucket.put(key, std::string(static_cast<std::size_t>(number), 'x'));
  s3::S3Client client(bucket.options(), {.bucket = "data"});
  std::map<std::string, int> listed;
  s3::S3Client::ListQuery query{.prefix = bucket.prefix(), .max_keys = 4};
  int pages = 0;
  while (true) {
    s3::ListPage page;
    ASSERT_EQ(client.list(query, page).code, 0);
    ++pages;
    for (const s3::ListedObject& object : page.objects)
      EXPECT_TRUE(
          listed.emplace(object.key.substr(bucket.prefix().size()), static_cast<int>(object.size)).second);
    if (!page.next) break;
    query.token = *page.next;
  }
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(pages, 7);
}

TEST(S3Keys, FoldersAreToldApartByTheDelimiter) {
  S3Bucket bucket;
  for (const char* key : {"top", "a/1", "a/2", "b/c/3"}) bucket.put(key, "x");
  s3::S3Client client(bucket.options(), {.bucket = "data"});
  s3::ListPage page;
  ASSERT_EQ(client.list({.prefix = bucket.prefix(), .by_folder = true}, page).code, 0);
  ASSERT_EQ(page.objects.size(), 1u);
  EXPECT_EQ(page.prefixes, (std::vector<std::string>{bucket.prefix() + "a/", bucket.prefix() + "b/"}));
}

TEST(S3Keys, ManyFoldersAreListedInGroups) {
  S3Bucket bucket;
  std::set<std::string> expected = {"f1.x/y", "f1/y", "f1-z", "f1.z", "f1/"};
  for (int i = 0; i < 300; ++i) expected.insert("f" + std::to_string(i) + "/x");
  for (const std::string& key : expected) bucket.put(key, "");
  expected.erase("f1/");  // a folder
  const auto found = paths_of(bucket.source());
  for (const auto& [path, stat] : found) EXPECT_TRUE(expected.erase(path)) << path;
  EXPECT_TRUE(expected.empty()) << *expected.begin();
}

TEST(S3Keys, ABucketThatIsNotThereIsTold) {
  S3Bucket bucket;
  s3::S3Source missing("s3://not-there-at-all", bucket.options());
  try {
    missing.check();
    FAIL() << "no error";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find("bucket not-there-at-all does not exist"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace winnow
