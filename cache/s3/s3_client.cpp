#include "cache/s3/s3_client.h"

#include <algorithm>
#include <charconv>

#include "cache/s3/encoding.h"

namespace winnow::s3 {

namespace {

using namespace std::chrono_literals;

// A stall is noticed early enough to try again within the time a reader waits.
std::chrono::seconds stall_timeout(std::chrono::milliseconds source_timeout) {
  if (source_timeout.count() == 0) return 15s;
  return std::clamp(std::chrono::duration_cast<std::chrono::seconds>(source_timeout / 4), 1s, 15s);
}

HttpOptions http_options(const S3Options& options) {
  const auto stall = stall_timeout(options.source_timeout);
  return {.ca_file = options.ca_file,
          .connect_timeout = std::min<std::chrono::milliseconds>(stall, 5s),
          .stall_timeout = stall};
}

bool names_old_credentials(const std::string& code) {
  return code == "ExpiredToken" || code == "ExpiredTokenException" || code == "TokenRefreshRequired" ||
         code == "InvalidToken" || code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch";
}

// 5xx, "slow down" and the like pass; Fetcher's table of passing errors has EAGAIN.
int errno_of(long status, const std::string& code) {
  if (status >= 500 || status == 429 || status == 408 || code == "RequestTimeout" || code == "SlowDown")
    return EAGAIN;
  if (status == 404) return ENOENT;
  if (status == 401 || status == 403) return EACCES;
  if (status == 412 || status == 416) return ESTALE;
  return EINVAL;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_md5(const HttpResponse& response, const std::string& etag) {
  const std::string encryption = response.header("x-amz-server-side-encryption");
  return etag.size() == 32 && etag.find_first_not_of("0123456789abcdef") == std::string::npos &&
         (encryption.empty() || encryption == "AES256") &&
         response.header("x-amz-server-side-encryption-customer-algorithm").empty();
}

// What the headers say of the object; of all of it, also where only a part was asked for.
bool read_facts(const HttpResponse& response, ObjectFacts& facts) {
  facts.etag = without_quotes(response.header("etag"));
  facts.etag_is_md5 = is_md5(response, facts.etag);
  const auto modified = parse_http_time(response.header("last-modified"));
  std::string length = response.header("content-length");
  if (response.status == 206) {
    const std::string range = response.header("content-range");
    length = range.substr(std::min(range.size(), range.rfind('/') + 1));
  }
  const auto size = number(length);
  facts.size = size.value_or(0);
  facts.modified = modified.value_or(0);
  return !facts.etag.empty() && size && modified;
}

}  // namespace

S3Client::S3Client(const S3Options& options, const S3Location& location)
    : options_(options),
      address_(address_of(options, location)),
      http_(http_options(options)),
      direct_({.connect_timeout = 1s, .stall_timeout = 2s, .use_proxy = false}),
      credentials_([this] { return find_credentials(http_, direct_, options_.profile, options_.region); }) {}

Failure S3Client::send(const std::string& method, const std::string& key, Fields query, Fields headers,
                       HttpRequest request, HttpResponse& response) {
  SignedRequest what{.method = method,
                     .host = address_.host,
                     .path = address_.path + percent_encode(key, true),
                     .query = std::move(query),
                     .headers = headers};
  request.method = method;
  request.timeout = options_.source_timeout;  // a body that trickles in never stalls
  request.url = address_.scheme_and_host + what.path;
  if (!what.query.empty()) request.url += "?" + canonical_query(what.query);
  std::shared_ptr<const Credentials> credentials;
  if (!options_.anonymous) {
    try {
      credentials = credentials_.get();
    } catch (const StartupError& error) {  // may come back: an endpoint that is down, a file being written
      return {.code = EAGAIN, .s3_code = "NoCredentials", .text = error.what()};
    }
    const Fields added = sign(what, *credentials, {.region = options_.region}, std::time(nullptr));
    headers.insert(headers.end(), added.begin(), added.end());
  }
  request.headers = std::move(headers);
  auto outcome = http_.perform(request);
  response = std::move(outcome.response);
  if (!outcome) return {.code = outcome.error.code, .text = outcome.error.text};
  if (response.status / 100 == 2) return {};
  const ErrorDocument document = parse_error_document(response.body);
  Failure failure{
      .code = errno_of(response.status, document.code),
      .status = response.status,
      .s3_code = document.code,
      .region = response.header("x-amz-bucket-region").empty() ? document.region
                                                               : response.header("x-amz-bucket-region"),
      .text = document.code.empty() ? "status " + std::to_string(response.status) : document.code};
  // The answer to a HEAD has no body to say why.
  const bool mute = method == "HEAD" && (response.status == 400 || response.status == 403);
  if (credentials && names_old_credentials(failure.s3_code)) {
    // Keys that never expire may be replaced all the same; a token will be.
    if (credentials_.replace(credentials) || !credentials->session_token.empty()) failure.code = EAGAIN;
  } else if (mute && credentials && !credentials->session_token.empty()) {
    if (credentials_.replace_once(credentials)) failure.code = EAGAIN;
  }
  return failure;
}

Failure S3Client::list(const ListQuery& query, ListPage& page) {
  Fields fields = {{"list-type", "2"}, {"encoding-type", "url"}};
  if (!query.prefix.empty()) fields.emplace_back("prefix", query.prefix);
  if (query.by_folder) fields.emplace_back("delimiter", "/");
  if (!query.token.empty()) {
    fields.emplace_back("continuation-token", query.token);
  } else if (!query.start_after.empty()) {
    fields.emplace_back("start-after", query.start_after);
  }
  if (query.max_keys > 0) fields.emplace_back("max-keys", std::to_string(query.max_keys));
  HttpResponse response;
  HttpRequest request;
  request.cancelled = query.cancelled;
  if (Failure failure = send("GET", "", std::move(fields), {}, std::move(request), response);
      failure.code != 0)
    return failure;
  auto parsed = parse_list_page(response.body);
  if (!parsed) return {.code = EIO, .status = response.status, .text = "the listing is not one of S3's"};
  page = std::move(*parsed);
  return {};
}

Failure S3Client::head(const std::string& key, ObjectFacts& facts) {
  HttpResponse response;
  if (Failure failure = send("HEAD", key, {}, {}, {}, response); failure.code != 0) return failure;
  if (!read_facts(response, facts))
    return {
        .code = EIO, .status = response.status, .text = "the store tells no ETag, size or time of " + key};
  return {};
}

Failure S3Client::get(const std::string& key, std::uint64_t offset, bool whole, std::span<std::byte> into,
                      ObjectFacts& facts) {
  Fields headers;
  if (!whole)
    headers.emplace_back("range",
                         "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + into.size() - 1));
  HttpResponse response;
  HttpRequest request;
  request.into = into;
  Failure failure = send("GET", key, {}, std::move(headers), std::move(request), response);
  if (!whole && response.status == 200)
    return {.code = EIO, .status = response.status, .text = "the store does not answer ranges"};
  if (response.overflowed) failure.code = ESTALE;  // longer than the version asked for
  if (failure.code != 0) return failure;
  if (!read_facts(response, facts))
    return {
        .code = EIO, .status = response.status, .text = "the store tells no ETag, size or time of " + key};
  const std::string wanted = "bytes " + std::to_string(offset) + "-";
  if (!whole && !response.header("content-range").starts_with(wanted))
    return {.code = EIO, .status = response.status, .text = "the store answers another range"};
  if (response.received != into.size() && facts.size >= offset + into.size())
    return {.code = EIO, .status = response.status, .text = "the body is short"};
  return {};
}

}  // namespace winnow::s3
