// One page of ListObjectsV2, and S3's error document. Strict: an answer that lacks what it must have, or has
// a number or time that is none, is refused as a whole, since half a listing would look like removed files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace winnow::s3 {

struct ListedObject {
  std::string key;  // decoded
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // seconds since the epoch
  std::string etag;           // without quotes
};

struct ListPage {
  std::vector<ListedObject> objects;
  std::vector<std::string> prefixes;
  std::optional<std::string> next;  // token of the next page; nullopt: this is the last
};

std::optional<ListPage> parse_list_page(std::string_view xml);

struct ErrorDocument {
  std::string code;
  std::string message;
  std::string region;  // where the bucket is, if told
};
ErrorDocument parse_error_document(std::string_view xml);  // empty fields where it tells nothing

}  // namespace winnow::s3
