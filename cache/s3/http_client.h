// HTTP through libcurl. Connections are kept and used again; names and TLS sessions are shared. Each call
// blocks until the answer is there or a time limit is reached; thread-safe. A failure to get any answer is a
// TransportError; an answer of whatever status is a value. Proxies as libcurl takes them from the
// environment.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "cache/result.h"
#include "cache/s3/signature.h"

namespace winnow::s3 {

struct HttpOptions {
  std::string ca_file;  // empty: the system's
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::seconds stall_timeout{15};  // no byte for so long: give up
  bool use_proxy = true;                   // metadata endpoints are never asked through one
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // encoded
  Fields headers;
  std::string body;
  std::span<std::byte> into;             // where the body of a 2xx goes; what does not fit fails the request
  std::size_t max_body = 64 << 20;       // of bodies that go elsewhere
  std::chrono::milliseconds timeout{0};  // for all of it; zero: only the limits above
  const std::atomic<bool>* cancelled = nullptr;
};

struct HttpResponse {
  long status = 0;
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;                            // unless it went to `into`
  std::size_t received = 0;                    // bytes in `into`
  bool overflowed = false;                     // there were more than fit

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

struct TransportError {
  int code = 0;      // errno
  std::string text;  // libcurl's words
};

class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // With an error, the response holds what had come before it.
  struct Outcome {
    HttpResponse response;
    TransportError error;
    explicit operator bool() const { return error.code == 0; }
  };
  Outcome perform(const HttpRequest& request);

 private:
  struct Shared;
  struct Handle;
  std::unique_ptr<Handle> take();
  void give_back(std::unique_ptr<Handle> handle);

  const HttpOptions options_;
  std::unique_ptr<Shared> shared_;
  std::mutex mutex_;                           // guards idle_
  std::vector<std::unique_ptr<Handle>> idle_;  // the last one used first: its connection is the warmest
};

}  // namespace winnow::s3
