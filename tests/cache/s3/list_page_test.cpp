#include "cache/s3/list_page.h"

#include <gtest/gtest.h>

namespace winnow::s3 {
namespace {

std::string page(const std::string& inside) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
         "<Name>b</Name>" +
         inside + "</ListBucketResult>";
}

const std::string kLast = "<IsTruncated>false</IsTruncated>";
const std::string kObject =
    "<Contents><Key>a&amp;b</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified>"
    "<ETag>&quot;e1&quot;</ETag><Size>5</Size><Owner><ID>x</ID></Owner></Contents>";

TEST(ListPage, HoldsObjectsAndPrefixes) {
  const auto found =
      parse_list_page(page(kLast + kObject + "<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>"));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->objects.size(), 1u);
  EXPECT_EQ(found->objects[0].key, "a&b");
  EXPECT_EQ(found->objects[0].size, 5u);
  EXPECT_EQ(found->objects[0].etag, "e1");
  EXPECT_EQ(found->objects[0].modified, 1'369'353'600);
  EXPECT_EQ(found->prefixes, std::vector<std::string>{"p/"});
  EXPECT_FALSE(found->next);
}

TEST(ListPage, NamesAreDecodedOnlyIfTheStoreSaysTheyAreEncoded) {
  std::string object = kObject;
  object.replace(object.find("a&amp;b"), 7, "x%20y+z%0A");
  EXPECT_EQ(parse_list_page(page(kLast + object))->objects[0].key, "x%20y+z%0A");
  EXPECT_EQ(parse_list_page(page(kLast + object + "<EncodingType>url</EncodingType>"))->objects[0].key,
            "x y z\n");
}

TEST(ListPage, ATruncatedOneNeedsATokenToGoOn) {
  const std::string more = "<IsTruncated>true</IsTruncated>";
  EXPECT_EQ(parse_list_page(page(more + "<NextContinuationToken>t</NextContinuationToken>"))->next, "t");
  EXPECT_FALSE(parse_list_page(page(more)));
  EXPECT_FALSE(parse_list_page(page(more + "<NextContinuationToken/>")));
}

TEST(ListPage, WhatIsIncompleteIsRefusedWhole) {
  EXPECT_FALSE(parse_list_page(""));
  EXPECT_FALSE(parse_list_page("<html><body>hello</body></html>"));
  EXPECT_FALSE(parse_list_page(page(kObject)));  // does not say whether it is the last
  EXPECT_FALSE(parse_list_page(page(kLast + kObject).substr(0, 200)));
  for (const char* missing : {"Key", "LastModified", "ETag", "Size"}) {
    std::string object = kObject;
    const std::string open = std::string("<") + missing + ">";
    const std::string close = std::string("</") + missing + ">";
    const auto at = object.find(open);
    object.erase(at, object.find(close) + close.size() - at);
    EXPECT_FALSE(parse_list_page(page(kLast + object))) << missing;
  }
}

TEST(ListPage, NumbersThatAreNoneAreRefused) {
  for (const char* size : {"-1", "5x", "99999999999999999999999", ""}) {
    std::string object = kObject;
    object.replace(object.find("<Size>5"), 7, std::string("<Size>") + size);
    EXPECT_FALSE(parse_list_page(page(kLast + object))) << size;
  }
}

TEST(ListPage, EntitiesOfItsOwnAreRefused) {
  EXPECT_FALSE(parse_list_page("<!DOCTYPE x [<!ENTITY a \"aaaa\">]>" +
                               page(kLast).substr(page(kLast).find("<ListBucketResult"))));
}

TEST(ListPage, ElementsWithoutANameOfTheirOwnAreNoOnes) {
  EXPECT_FALSE(parse_list_page("<x:><x:><IsTruncated>false</IsTruncated></x:></x:>"));  // found by the fuzzer
}

TEST(ErrorDocument, TellsCodeAndRegion) {
  const auto found = parse_error_document(
      "<Error><Code>PermanentRedirect</Code><Message>m</Message><Region>eu-west-1</Region></Error>");
  EXPECT_EQ(found.code, "PermanentRedirect");
  EXPECT_EQ(found.message, "m");
  EXPECT_EQ(found.region, "eu-west-1");
  EXPECT_EQ(parse_error_document("not xml").code, "");
}

}  // namespace
}  // namespace winnow::s3
