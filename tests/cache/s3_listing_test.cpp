// Listings of buckets with many folders: exact, with few requests, and several of them at a time. The
// requests are counted at the test origin.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cache/s3_storage.h"

namespace winnow {
namespace {

class S3Listing : public testing::Test {
 protected:
  S3Listing() {
    setenv("AWS_ACCESS_KEY_ID", "test", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    unsetenv("AWS_SESSION_TOKEN");
  }

  void put(const std::string& key) {
    keys_.insert(key);
    origin_.control("PUT", "/object?key=" + s3::percent_encode(key, false));
  }

  // What a scan of `prefix` finds must be what is below it, each once.
  void expect_exact(const std::string& prefix = "") {
    origin_.control("POST", "/clear");
    origin_.control("POST", "/faults", R"({"latency_ms": )" + std::to_string(latency_ms_) + "}");
    s3::S3Client client({.endpoint = origin_.endpoint(), .region = "us-east-1"}, {.bucket = "data"});
    ScanProgress progress;
    const auto listed = s3::scan_bucket({.client = client, .prefix = prefix, .shown = "s3://data"}, progress);
    ASSERT_TRUE(listed.has_value()) << progress.failed_at;
    std::multiset<std::string> found, different;
    for (const s3::ListedObject& object : listed.value()) found.insert(object.key);
    std::set<std::string> expected;
    for (const std::string& key : keys_)
      if (key.starts_with(prefix)) expected.insert(key);
    std::set_symmetric_difference(found.begin(), found.end(), expected.begin(), expected.end(),
                                  std::inserter(different, different.end()));
    EXPECT_TRUE(different.empty()) << different.size() << " names, the first of them " << *different.begin();
    counts_ = nlohmann::json::parse(origin_.control("GET", "/counts"));
  }
  int lists() const { return counts_["operations"]["list"]; }

  OriginProcess origin_;
  std::set<std::string> keys_;
  nlohmann::json counts_;
  int latency_ms_ = 0;
};

TEST_F(S3Listing, ManyFoldersOfOneFileTakeFewRequests) {
  for (int i = 0; i < 3500; ++i) {
    const std::string name = "p/f" + std::to_string(i);
    put(name + "/image.jpg");
    // Neighbours that sort around "f7/": objects and folders before it, between its keys, and behind.
    if (i % 7 == 0) put(name + ".jpg");
    if (i % 11 == 0) put(name + ".old/x");
    if (i % 13 == 0) put(name + "/");
    if (i % 17 == 0) put(name + "0");
    if (i % 19 == 0) put(name);
    if (i % 23 == 0) put(name + "//double");
    if (i % 29 == 0) put(name + "/deep/er/still");
    if (i % 31 == 0) put(name + "\xf4\x8f\xbf\xbf/last");
    if (i % 37 == 0) put(name + ".\xf4\x8f\xbf\xbf/last");
  }
  for (const char* key : {"p/", "p//x", "p/./y", "o/x", "q/x", "p0"}) put(key);
  expect_exact("p/");
  EXPECT_LT(lists(), 40) << "for some 4,000 folders";
  expect_exact();
  EXPECT_LT(lists(), 40);
}

TEST_F(S3Listing, LargeFoldersAmongManyAreSharedOut) {
  for (int i = 0; i < 300; ++i)
    for (int j = 0; j < (i % 100 == 50 ? 1500 : 5); ++j)
      put("f" + std::to_string(i) + "/" + std::to_string(j));
  latency_ms_ = 150;  // so that they meet on a busy machine, too
  expect_exact();
  EXPECT_LT(lists(), 40);
  EXPECT_GE(counts_["most_at_once"].get<int>(), 3);
}

TEST_F(S3Listing, FoldersAreListedSeveralAtATime) {
  for (int i = 0; i < 100; ++i) put("f" + std::to_string(i) + "/x");
  latency_ms_ = 20;
  expect_exact();
  EXPECT_EQ(lists(), 101);
  EXPECT_GE(counts_["most_at_once"].get<int>(), 8);
}

}  // namespace
}  // namespace winnow
