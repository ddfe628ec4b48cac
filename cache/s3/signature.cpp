#include "cache/s3/signature.h"

#include <algorithm>

#include "cache/s3/encoding.h"

namespace winnow::s3 {

namespace {

constexpr const char* kAlgorithm = "AWS4-HMAC-SHA256";

std::string stamp_of(std::time_t now) {
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts)};
}

std::string signing_key(const std::string& secret, const std::string& date, const Scope& scope) {
  std::string key = hmac_sha256("AWS4" + secret, date);
  key = hmac_sha256(key, scope.region);
  key = hmac_sha256(key, scope.service);
  return hmac_sha256(key, "aws4_request");
}

}  // namespace

std::string canonical_query(const Fields& query) {
  Fields encoded;
  for (const auto& [name, value] : query)
    encoded.emplace_back(percent_encode(name, false), percent_encode(value, false));
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) {
    if (!text.empty()) text += '&';
    text += name + '=' + value;
  }
  return text;
}

Fields sign(const SignedRequest& request, const Credentials& credentials, const Scope& scope,
            std::time_t now) {
  const std::string stamp = stamp_of(now);
  const std::string date = stamp.substr(0, 8);
  const std::string payload_hash = to_hex(sha256(request.payload));
  Fields added = {{"x-amz-content-sha256", payload_hash}, {"x-amz-date", stamp}};
  if (!credentials.session_token.empty())
    added.emplace_back("x-amz-security-token", credentials.session_token);

  Fields headers = request.headers;
  headers.emplace_back("host", request.host);
  headers.insert(headers.end(), added.begin(), added.end());
  std::sort(headers.begin(), headers.end());
  std::string names;
  std::string lines;
  for (const auto& [name, value] : headers) {
    names += (names.empty() ? "" : ";") + name;
    lines += name + ':' + value + '\n';
  }
  const std::string canonical = request.method + '\n' + request.path + '\n' + canonical_query(request.query) +
                                '\n' + lines + '\n' + names + '\n' + payload_hash;
  const std::string place = date + '/' + scope.region + '/' + scope.service + "/aws4_request";
  const std::string text =
      std::string(kAlgorithm) + '\n' + stamp + '\n' + place + '\n' + to_hex(sha256(canonical));
  const std::string signature = to_hex(hmac_sha256(signing_key(credentials.secret_key, date, scope), text));
  added.emplace_back("authorization", std::string(kAlgorithm) + " Credential=" + credentials.access_key +
                                          '/' + place + ", SignedHeaders=" + names +
                                          ", Signature=" + signature);
  return added;
}

}  // namespace winnow::s3
