// Signed requests to one bucket: list a page, look at an object, get its bytes. One try each; whoever calls
// decides about another. Thread-safe; every call blocks for as long as the store does, within the client's
// time limits.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "cache/s3/credential_chain.h"
#include "cache/s3/http_client.h"
#include "cache/s3/list_page.h"
#include "cache/s3/s3_options.h"

namespace winnow::s3 {

// Why a request failed: an errno for readers, and what the store said for a sentence.
struct Failure {
  int code = 0;  // 0: it did not
  long status = 0;
  std::string s3_code;  // "NoSuchBucket"
  std::string region;   // where the bucket is, if told
  std::string text;     // in words, without secrets
};

struct ObjectFacts {
  std::uint64_t size = 0;
  std::int64_t modified = 0;
  std::string etag;
  bool etag_is_md5 =
      false;  // as far as the answer tells: of one part, and not encrypted with a key of the store's
};

class S3Client {
 public:
  S3Client(const S3Options& options, const S3Location& location);

  struct ListQuery {
    std::string prefix;
    bool by_folder = false;  // with the delimiter '/'
    std::string start_after;  // names behind this one; where there is no token
    std::string token;
    int max_keys = 0;  // 0: the store's most
    const std::atomic<bool>* cancelled = nullptr;
  };
  Failure list(const ListQuery& query, ListPage& page);
  Failure head(const std::string& key, ObjectFacts& facts);
  // Fills `into` with the bytes from `offset` on; `whole`: it is all of the object. Fewer bytes are a
  // failure.
  Failure get(const std::string& key, std::uint64_t offset, bool whole, std::span<std::byte> into,
              ObjectFacts& facts);

  std::string where() const { return address_.scheme_and_host; }

 private:
  Failure send(const std::string& method, const std::string& key, Fields query, Fields headers,
               HttpRequest request, HttpResponse& response);

  const S3Options options_;
  const Address address_;
  HttpClient http_;
  HttpClient direct_;  // for metadata endpoints: never through a proxy
  CredentialChain credentials_;
};

}  // namespace winnow::s3
