#include "tests/support/origin/bucket.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "tests/support/origin/digests.h"

namespace origin {

namespace {

constexpr std::size_t kMaxKeys = 1000;
const std::string kXmlHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const std::string kNamespace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

std::string unquoted(std::string text) {
  std::erase(text, '"');
  return text;
}

struct Span {
  std::size_t first = 0;
  std::size_t size = 0;
};

// "bytes=a-b", "bytes=a-" and "bytes=-n" over `whole` bytes; nullopt: cannot be satisfied.
std::optional<Span> parse_range(const std::string& header, std::size_t whole) {
  std::string_view text(header);
  text.remove_prefix(std::min<std::size_t>(6, text.size()));
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  std::size_t first = 0, last = whole == 0 ? 0 : whole - 1;
  const auto number = [](std::string_view part, std::size_t& value) {
    return std::from_chars(part.data(), part.data() + part.size(), value).ec == std::errc();
  };
  if (dash == 0) {
    std::size_t length = 0;
    if (!number(text.substr(1), length) || length == 0) return std::nullopt;
    first = whole - std::min(whole, length);
  } else {
    if (!number(text.substr(0, dash), first)) return std::nullopt;
    if (dash + 1 < text.size() && !number(text.substr(dash + 1), last)) return std::nullopt;
  }
  if (first >= whole || last < first) return std::nullopt;
  return Span{first, std::min(last, whole - 1) - first + 1};
}

// A key as a listing writes it: raw, or with encoding-type=url as AWS does, a space as '+'.
std::string written(const std::string& key, bool url) {
  if (!url) return xml_escape(key);
  std::string out = url_encode(key, true);
  for (std::size_t at; (at = out.find("%20")) != std::string::npos;) out.replace(at, 3, "+");
  return out;
}

}  // namespace

void parse_target(Request& request) {
  // As a proxy is asked: the whole address.
  if (request.target.starts_with("http://"))
    request.target.erase(0, std::min(request.target.find('/', 7), request.target.size()));
  const auto mark = request.target.find('?');
  request.raw_path = request.target.substr(0, mark);
  if (mark == std::string::npos) return;
  std::string rest = request.target.substr(mark + 1);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('&'), rest.size());
    const std::string part = rest.substr(0, end);
    rest.erase(0, end + 1);
    const auto equals = std::min(part.find('='), part.size());
    if (!part.empty())
      request.query.emplace_back(url_decode(part.substr(0, equals)),
                                 equals < part.size() ? url_decode(part.substr(equals + 1)) : "");
  }
}

Answer error_answer(int status, const std::string& code, const std::string& message) {
  Answer answer;
  answer.status = status;
  answer.headers.emplace_back("Content-Type", "application/xml");
  answer.set_text(kXmlHead + "<Error><Code>" + code + "</Code><Message>" + xml_escape(message) +
                  "</Message><RequestId>0</RequestId></Error>");
  return answer;
}

Answer Bucket::answer(const Request& request, std::time_t now) {
  std::string path = url_decode(request.raw_path);
  path.erase(0, 1);
  const bool virtual_host = request.header("host").starts_with(name_ + ".");
  const auto slash = path.find('/');
  const std::string bucket = virtual_host ? name_ : path.substr(0, slash);
  const std::string key = virtual_host ? path : slash == std::string::npos ? "" : path.substr(slash + 1);
  Answer answer;
  if (auto refused = refuse(account_, request, now)) {
    answer = std::move(*refused);
  } else if (bucket.empty()) {
    answer.set_text(kXmlHead + "<ListAllMyBucketsResult" + kNamespace +
                    "><Owner><ID>0</ID></Owner><Buckets><Bucket>" + "<Name>" + name_ +
                    "</Name><CreationDate>" + iso_date(0) +
                    "</CreationDate></Bucket></Buckets></ListAllMyBucketsResult>");
  } else if (bucket != name_) {
    answer = error_answer(404, "NoSuchBucket", "The specified bucket does not exist");
  } else {
    answer = key.empty() ? answer_bucket(request) : answer_object(request, key);
  }
  answer.head_only = request.method == "HEAD";
  return answer;
}

Answer Bucket::answer_bucket(const Request& request) const {
  if (request.method == "GET" && request.asks("location")) return location();
  if (request.method == "GET") return list(request);
  if (request.method == "HEAD") {
    Answer answer;
    answer.operation = "head-bucket";
    answer.headers.emplace_back("x-amz-bucket-region", account_.region);
    return answer;
  }
  if (request.method == "PUT") return {};
  return error_answer(501, "NotImplemented", request.method + " of a bucket is not implemented");
}

Answer Bucket::location() const {
  Answer answer;
  answer.set_text(kXmlHead + "<LocationConstraint" + kNamespace + ">" +
                  (account_.region == "us-east-1" ? "" : account_.region) + "</LocationConstraint>");
  return answer;
}

Answer Bucket::list(const Request& request) const {
  const std::string prefix = request.parameter("prefix");
  const std::string delimiter = request.parameter("delimiter");
  const bool url = request.parameter("encoding-type") == "url";
  std::size_t limit = kMaxKeys;
  if (request.asks("max-keys"))
    limit = std::min<std::size_t>(limit, std::stoul("0" + request.parameter("max-keys")));
  // The token is the last name that was given, as hexadecimal, so that nobody takes it for a key.
  const std::string token = request.parameter("continuation-token");
  const bool old = request.parameter("list-type") != "2";  // as older clients list
  std::string after = request.parameter(old ? "marker" : "start-after");
  if (!token.empty()) {
    after.clear();
    for (std::size_t i = 0; i + 1 < token.size(); i += 2)
      after += static_cast<char>(std::strtol(token.substr(i, 2).c_str(), nullptr, 16));
  }

  std::string contents, prefixes, last;
  std::size_t count = 0;
  bool truncated = false;
  auto at = objects_.all().lower_bound(std::max(prefix, after));
  while (at != objects_.all().end() && at->first.starts_with(prefix)) {
    const auto& [key, object] = *at;
    const auto cut = delimiter.empty() ? std::string::npos : key.find(delimiter, prefix.size());
    const std::string name = cut == std::string::npos ? key : key.substr(0, cut + delimiter.size());
    const bool given = !after.empty() && name <= after;
    if (!given && count == limit) {
      truncated = true;
      break;
    }
    if (!given) {
      ++count;
      last = name;
      if (cut != std::string::npos) {
        prefixes += "<CommonPrefixes><Prefix>" + written(name, url) + "</Prefix></CommonPrefixes>";
      } else {
        contents += "<Contents><Key>" + written(key, url) + "</Key><LastModified>" +
                    iso_date(object.modified) + "</LastModified><ETag>&quot;" + object.etag +
                    "&quot;</ETag><Size>" + std::to_string(object.size) +
                    "</Size><StorageClass>STANDARD</StorageClass></Contents>";
      }
    }
    if (cut == std::string::npos) {
      ++at;
    } else {  // over all that the common prefix stands for
      while (at != objects_.all().end() && at->first.starts_with(name)) ++at;
    }
  }
  Answer answer;
  answer.operation = "list";
  answer.headers.emplace_back("Content-Type", "application/xml");
  answer.set_text(kXmlHead + "<ListBucketResult" + kNamespace + "><Name>" + name_ + "</Name><Prefix>" +
                  written(prefix, url) + "</Prefix>" +
                  (delimiter.empty() ? "" : "<Delimiter>" + written(delimiter, url) + "</Delimiter>") +
                  (url ? "<EncodingType>url</EncodingType>" : "") + "<MaxKeys>" + std::to_string(limit) +
                  "</MaxKeys><KeyCount>" + std::to_string(count) + "</KeyCount><IsTruncated>" +
                  (truncated ? "true" : "false") + "</IsTruncated>" +
                  (!truncated ? ""
                   : old      ? "<NextMarker>" + written(last, url) + "</NextMarker>"
                              : "<NextContinuationToken>" + to_hex(last) + "</NextContinuationToken>") +
                  contents + prefixes + "</ListBucketResult>");
  return answer;
}

Answer Bucket::answer_object(const Request& request, const std::string& key) {
  if (request.method == "GET" || request.method == "HEAD") return get(request, key);
  Answer answer;
  if (request.method == "PUT") {
    objects_.put(key, request.body);
    answer.headers.emplace_back("ETag", "\"" + objects_.find(key)->etag + "\"");
  } else if (request.method == "DELETE") {
    objects_.remove(key);
    answer.status = 204;
  } else {
    answer = error_answer(501, "NotImplemented", request.method + " is not implemented");
  }
  return answer;
}

Answer Bucket::get(const Request& request, const std::string& key) const {
  const Object* object = objects_.find(key);
  if (object == nullptr) return error_answer(404, "NoSuchKey", "The specified key does not exist.");
  const std::string& wanted = request.header("if-match");
  if (!wanted.empty() && wanted != "*" && unquoted(wanted) != object->etag)
    return error_answer(412, "PreconditionFailed",
                        "At least one of the pre-conditions you specified did not hold");

  Answer answer;
  answer.operation = request.method == "GET" ? "get" : "head";
  answer.key = key;
  answer.bytes = object->bytes;
  answer.body = object->view();
  const std::string& range = request.header("range");
  if (range.starts_with("bytes=")) {
    const auto span = parse_range(range, object->size);
    if (!span) return error_answer(416, "InvalidRange", "The requested range is not satisfiable");
    answer.status = 206;
    answer.body = answer.body.substr(span->first, span->size);
    answer.headers.emplace_back("Content-Range", "bytes " + std::to_string(span->first) + "-" +
                                                     std::to_string(span->first + span->size - 1) + "/" +
                                                     std::to_string(object->size));
  }
  answer.headers.emplace_back("ETag", "\"" + object->etag + "\"");
  answer.headers.emplace_back("Last-Modified", http_date(object->modified));
  answer.headers.emplace_back("Accept-Ranges", "bytes");
  answer.headers.emplace_back("Content-Type", "binary/octet-stream");
  return answer;
}

}  // namespace origin
