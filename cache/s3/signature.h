// AWS Signature Version 4, in the Authorization header. libcurl's own is not used: that of Debian's 7.88
// signs neither a session token nor a sorted query. Pure: the caller tells the time.
#pragma once

#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace winnow::s3 {

struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;   // empty: none
  std::time_t expires_at = 0;  // 0: never

  bool operator==(const Credentials&) const = default;
};

using Fields = std::vector<std::pair<std::string, std::string>>;

struct SignedRequest {
  std::string method;
  std::string host;     // with a port unless it is the scheme's own
  std::string path;     // percent-encoded, begins with '/'
  Fields query;         // not encoded
  Fields headers;       // lower-case names, those to be signed besides host and the x-amz- ones below
  std::string payload;  // the body, or empty
};

struct Scope {
  std::string region;
  std::string service = "s3";
};

// The query as it is sent and signed: encoded and sorted.
std::string canonical_query(const Fields& query);

// The headers to send in addition: x-amz-date, x-amz-content-sha256, x-amz-security-token, authorization.
Fields sign(const SignedRequest& request, const Credentials& credentials, const Scope& scope,
            std::time_t now);

}  // namespace winnow::s3
