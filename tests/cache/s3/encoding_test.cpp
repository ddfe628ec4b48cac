#include "cache/s3/encoding.h"

#include <gtest/gtest.h>

namespace winnow::s3 {
namespace {

TEST(Encoding, EveryByteComesBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(all, false)), all);
  EXPECT_EQ(percent_decode(percent_encode(all, true)), all);
}

TEST(Encoding, ASlashStaysWhereItSeparates) {
  EXPECT_EQ(percent_encode("a/b c", true), "a/b%20c");
  EXPECT_EQ(percent_encode("a/b", false), "a%2Fb");
}

TEST(Encoding, APlusOfAListingIsASpace) { EXPECT_EQ(percent_decode("a+b%2Bc"), "a b+c"); }

TEST(Encoding, HalfAnEscapeIsRefused) {
  EXPECT_FALSE(percent_decode("a%2"));
  EXPECT_FALSE(percent_decode("%"));
  EXPECT_FALSE(percent_decode("%zz"));
}

TEST(Encoding, TimesOfListingsAndHeadersAgree) {
  EXPECT_EQ(parse_iso_time("2013-05-24T00:00:00.123Z"), 1'369'353'600);
  EXPECT_EQ(parse_http_time("Fri, 24 May 2013 00:00:00 GMT"), 1'369'353'600);
  EXPECT_FALSE(parse_iso_time("yesterday"));
  EXPECT_FALSE(parse_http_time(""));
}

TEST(Encoding, AnEtagIsTheSameWithAndWithoutQuotes) {
  EXPECT_EQ(without_quotes("\"abc\""), "abc");
  EXPECT_EQ(without_quotes("W/\"abc\""), "abc");
  EXPECT_EQ(without_quotes("abc"), "abc");
}

TEST(Encoding, DigestsAreTheKnownOnes) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(md5_hex("abc", 3), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(to_hex(hmac_sha256("key", "The quick brown fox jumps over the lazy dog")),
            "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
}

}  // namespace
}  // namespace winnow::s3
