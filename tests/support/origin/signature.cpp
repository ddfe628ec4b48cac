#include "tests/support/origin/signature.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <sstream>

#include "tests/support/origin/digests.h"

namespace origin {

namespace {

constexpr double kMaxSkewSeconds = 900;

struct Authorization {
  std::string access_key, date, region, service, terminator, signed_headers, signature;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::optional<Authorization> parse(const std::string& header) {
  static const std::string kAlgorithm = "AWS4-HMAC-SHA256 ";
  if (!header.starts_with(kAlgorithm)) return std::nullopt;
  Authorization found;
  for (std::string part : split(header.substr(kAlgorithm.size()), ',')) {
    part.erase(0, part.find_first_not_of(' '));
    const auto equals = part.find('=');
    if (equals == std::string::npos) return std::nullopt;
    const std::string value = part.substr(equals + 1);
    if (part.starts_with("Credential=")) {
      const auto scope = split(value, '/');
      if (scope.size() != 5) return std::nullopt;
      found.access_key = scope[0];
      found.date = scope[1];
      found.region = scope[2];
      found.service = scope[3];
      found.terminator = scope[4];
    } else if (part.starts_with("SignedHeaders=")) {
      found.signed_headers = value;
    } else if (part.starts_with("Signature=")) {
      found.signature = value;
    }
  }
  return found;
}

std::string squeeze(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  return out;
}

std::string canonical_query(const Request& request) {
  std::vector<std::pair<std::string, std::string>> encoded;
  for (const auto& [name, value] : request.query)
    encoded.emplace_back(url_encode(name, false), url_encode(value, false));
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded) out += (out.empty() ? "" : "&") + name + "=" + value;
  return out;
}

std::string canonical_request(const Request& request, const std::string& signed_headers) {
  std::string text = request.method + "\n" + url_encode(url_decode(request.raw_path), true) + "\n" +
                     canonical_query(request) + "\n";
  for (const std::string& name : split(signed_headers, ';')) {
    text += name + ":" + squeeze(request.header(name)) + "\n";
  }
  return text + "\n" + signed_headers + "\n" + request.header("x-amz-content-sha256");
}

std::optional<std::string> unsigned_header(const Request& request, const std::string& signed_headers) {
  const auto names = split(signed_headers, ';');
  if (!std::is_sorted(names.begin(), names.end())) return "SignedHeaders out of order";
  for (const auto& [name, value] : request.headers) {
    if (name != "host" && !name.starts_with("x-amz-")) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) return name;
  }
  return std::nullopt;
}

bool is_skewed(const std::string& stamp, std::time_t now) {
  std::tm parts{};
  if (strptime(stamp.c_str(), "%Y%m%dT%H%M%SZ", &parts) == nullptr) return true;
  return std::abs(std::difftime(timegm(&parts), now)) > kMaxSkewSeconds;
}

}  // namespace

std::optional<Answer> refuse(const Account& account, const Request& request, std::time_t now) {
  const std::string& header = request.header("authorization");
  if (header.empty()) {
    if (account.anonymous) return std::nullopt;
    return error_answer(403, "AccessDenied", "Access Denied");
  }
  const auto found = parse(header);
  if (!found) return error_answer(400, "AuthorizationHeaderMalformed", "The header is malformed");
  if (found->access_key != account.access_key)
    return error_answer(403, "InvalidAccessKeyId", "The access key id does not exist");
  const std::string& stamp = request.header("x-amz-date");
  if (found->region != account.region) {
    Answer answer =
        error_answer(400, "AuthorizationHeaderMalformed",
                     "the region '" + found->region + "' is wrong; expecting '" + account.region + "'");
    answer.headers.emplace_back("x-amz-bucket-region", account.region);
    return answer;
  }
  if (found->service != "s3" || found->terminator != "aws4_request" || stamp.substr(0, 8) != found->date)
    return error_answer(400, "AuthorizationHeaderMalformed", "The scope is wrong");
  if (is_skewed(stamp, now)) return error_answer(403, "RequestTimeTooSkewed", "The clocks differ too much");
  if (!account.any_token && request.header("x-amz-security-token") != account.session_token)
    return error_answer(400, account.session_token.empty() ? "InvalidToken" : "ExpiredToken",
                        "The security token is invalid");
  if (const auto missing = unsigned_header(request, found->signed_headers))
    return error_answer(403, "AccessDenied", "There were headers present which were not signed: " + *missing);
  const std::string& payload = request.header("x-amz-content-sha256");
  if (payload != "UNSIGNED-PAYLOAD" && payload != to_hex(sha256(request.body)))
    return error_answer(400, "XAmzContentSHA256Mismatch", "The body's hash differs from the header's");

  const std::string scope = found->date + "/" + found->region + "/s3/aws4_request";
  const std::string text = "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" +
                           to_hex(sha256(canonical_request(request, found->signed_headers)));
  std::string key = hmac_sha256("AWS4" + account.secret_key, found->date);
  for (const std::string& part : {found->region, std::string("s3"), std::string("aws4_request")})
    key = hmac_sha256(key, part);
  if (to_hex(hmac_sha256(key, text)) == found->signature) return std::nullopt;
  return error_answer(403, "SignatureDoesNotMatch",
                      "The signature calculated does not match the one provided");
}

}  // namespace origin
