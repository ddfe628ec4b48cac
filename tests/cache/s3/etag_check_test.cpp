#include "cache/s3/etag_check.h"

#include <gtest/gtest.h>

#include "cache/s3/encoding.h"

namespace winnow::s3 {
namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(EtagCheck, AcceptsWhatHasItsMd5) {
  EtagCheck check;
  EXPECT_TRUE(check.accepts("a.jpg", md5_hex("abc", 3), bytes("abc")));
}

TEST(EtagCheck, AsksAgainForWhatHasNot) {
  EtagCheck check;
  const std::string etag = md5_hex("abc", 3);
  EXPECT_FALSE(check.accepts("a.jpg", etag, bytes("abX")));
  EXPECT_FALSE(check.accepts("a.jpg", etag, bytes("aYc")));  // damaged otherwise
  EXPECT_TRUE(check.accepts("a.jpg", etag, bytes("abc")));
}

TEST(EtagCheck, BelievesBytesThatComeTwiceWhereNoEtagWasEverAnMd5) {
  EtagCheck check;
  EXPECT_FALSE(check.accepts("a.jpg", "0123", bytes("abc")));
  EXPECT_TRUE(check.accepts("a.jpg", "0123", bytes("abc")));
}

TEST(EtagCheck, NeverBelievesDamageWhereEtagsAreMd5s) {
  EtagCheck check;
  EXPECT_TRUE(check.accepts("a.jpg", "900150983cd24fb0d6963f7d28e17f72", bytes("abc")));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(check.accepts("a.jpg", "0123", bytes("abc")));
}

TEST(EtagCheck, GivesUpAtAStoreWhoseEtagsAreSomethingElse) {
  EtagCheck check;
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(check.accepts("a.jpg", std::to_string(i), bytes("abc")));
    EXPECT_TRUE(check.accepts("a.jpg", std::to_string(i), bytes("abc")));
  }
  EXPECT_TRUE(check.accepts("a.jpg", "another", bytes("abc")));
}

}  // namespace
}  // namespace winnow::s3
