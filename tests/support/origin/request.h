// A request and an answer, as the parts of the origin hand them to each other.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace origin {

struct Request {
  std::string method;
  std::string target;  // as it came
  std::string raw_path;
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in the order of the target
  std::map<std::string, std::string> headers;              // lower-case names; values trimmed
  std::string body;

  const std::string& header(const std::string& name) const {
    static const std::string none;
    const auto found = headers.find(name);
    return found == headers.end() ? none : found->second;
  }
  bool asks(std::string_view name) const {
    for (const auto& [key, value] : query)
      if (key == name) return true;
    return false;
  }
  std::string parameter(std::string_view name) const {
    for (const auto& [key, value] : query)
      if (key == name) return value;
    return {};
  }
};

struct Answer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::shared_ptr<const std::string> bytes;  // keeps `body` alive
  std::string_view body;
  bool head_only = false;
  std::string key;        // of an object's GET, for the log
  std::string operation;  // "get", "list", "head", ...

  void set_text(std::string text) {
    bytes = std::make_shared<const std::string>(std::move(text));
    body = *bytes;
  }
};

// Splits "path?query" and decodes the query.
void parse_target(Request& request);

// S3's own error document.
Answer error_answer(int status, const std::string& code, const std::string& message);

}  // namespace origin
