#include "cache/s3/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>

namespace winnow::s3 {

namespace {

using Clock = std::chrono::steady_clock;
constexpr long kReceiveBuffer = 64 << 10;
constexpr std::size_t kMaxIdle = 160;

void start_curl_once() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw StartupError("libcurl does not start; install libcurl4 again");
}

int errno_of(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return ETIMEDOUT;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return EHOSTUNREACH;
    case CURLE_COULDNT_CONNECT:
      return ECONNREFUSED;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return ECONNRESET;
    case CURLE_OUT_OF_MEMORY:
      return ENOMEM;
    case CURLE_ABORTED_BY_CALLBACK:
      return ECANCELED;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return EPROTO;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return EINVAL;
    default:  // short bodies among them
      return EIO;
  }
}

struct HeaderList {
  curl_slist* list = nullptr;
  ~HeaderList() { curl_slist_free_all(list); }
  void add(const std::string& line) { list = curl_slist_append(list, line.c_str()); }
};

// What the callbacks of one transfer see.
struct Transfer {
  const HttpRequest& request;
  HttpResponse& response;
  CURL* easy;
  std::chrono::seconds stall_timeout;
  Clock::time_point moved_at = Clock::now();  // when a byte last came or went
  curl_off_t moved = 0;
  bool stalled = false;
};

std::size_t on_body(char* data, std::size_t, std::size_t size, void* context) {
  const Transfer& transfer = *static_cast<Transfer*>(context);
  const HttpRequest& request = transfer.request;
  HttpResponse& response = transfer.response;
  if (response.status == 0) curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &response.status);
  const bool good = response.status / 100 == 2 && request.into.data() != nullptr;
  if (!good) {
    if (response.body.size() + size > request.max_body) return 0;
    response.body.append(data, size);
    return size;
  }
  if (response.received + size > request.into.size()) {
    response.overflowed = true;
    return 0;
  }
  std::memcpy(request.into.data() + response.received, data, size);
  response.received += size;
  return size;
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* context) {
  HttpResponse& response = static_cast<Transfer*>(context)->response;
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) {  // of the last answer, after a 100 or a proxy's
    response.headers.clear();
    return size;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && std::isspace(static_cast<unsigned char>(value.front())) != 0)
    value.remove_prefix(1);
  while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back())) != 0)
    value.remove_suffix(1);
  response.headers[name] = std::string(value);
  return size;
}

// Called with every piece and at least once a second. libcurl's own limit for stalls looks at an average over
// five seconds, which notices them that much later.
int on_progress(void* context, curl_off_t, curl_off_t down, curl_off_t, curl_off_t up) {
  Transfer& transfer = *static_cast<Transfer*>(context);
  const auto* cancelled = transfer.request.cancelled;
  if (cancelled != nullptr && *cancelled) return 1;
  const auto now = Clock::now();
  if (down + up != transfer.moved) {
    transfer.moved = down + up;
    transfer.moved_at = now;
  }
  transfer.stalled = now - transfer.moved_at >= transfer.stall_timeout;
  return transfer.stalled ? 1 : 0;
}

}  // namespace

struct HttpClient::Shared {
  CURLSH* share = curl_share_init();
  std::array<std::mutex, CURL_LOCK_DATA_LAST> locks;  // one for each kind of shared data, as libcurl asks

  Shared() {
    curl_share_setopt(share, CURLSHOPT_USERDATA, this);
    curl_share_setopt(
        share, CURLSHOPT_LOCKFUNC, +[](CURL*, curl_lock_data kind, curl_lock_access, void* self) {
          static_cast<Shared*>(self)->locks[kind].lock();
        });
    curl_share_setopt(
        share, CURLSHOPT_UNLOCKFUNC,
        +[](CURL*, curl_lock_data kind, void* self) { static_cast<Shared*>(self)->locks[kind].unlock(); });
    curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  }
  ~Shared() { curl_share_cleanup(share); }
};

struct HttpClient::Handle {
  CURL* easy = curl_easy_init();
  char error[CURL_ERROR_SIZE] = "";
  ~Handle() { curl_easy_cleanup(easy); }
};

HttpClient::HttpClient(HttpOptions options) : options_(std::move(options)) {
  start_curl_once();
  shared_ = std::make_unique<Shared>();
}

HttpClient::~HttpClient() = default;

std::unique_ptr<HttpClient::Handle> HttpClient::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto handle = std::move(idle_.back());
      idle_.pop_back();
      return handle;
    }
  }
  auto handle = std::make_unique<Handle>();
  CURL* const easy = handle->easy;
  if (easy == nullptr) return nullptr;
  curl_easy_setopt(easy, CURLOPT_SHARE, shared_->share);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, handle->error);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBuffer);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout.count()));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  if (!options_.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
  if (!options_.use_proxy) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  return handle;
}

void HttpClient::give_back(std::unique_ptr<Handle> handle) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(handle));
}

HttpClient::Outcome HttpClient::perform(const HttpRequest& request) {
  Outcome outcome;
  auto handle = take();
  if (!handle) return {.error = {ENOMEM, "no handle"}};
  CURL* const easy = handle->easy;
  Transfer transfer{request, outcome.response, easy, options_.stall_timeout};
  HeaderList headers;
  for (const auto& [name, value] : request.headers) headers.add(name + ": " + value);
  headers.add("expect:");
  const bool sends = request.method == "PUT" || request.method == "POST";
  curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);  // undoes what the request before asked for
  curl_easy_setopt(easy, CURLOPT_NOBODY, request.method == "HEAD" ? 1L : 0L);
  if (sends) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
    if (request.headers.empty() || request.method == "PUT") headers.add("content-type:");
  }
  const bool plain = request.method == "GET" || request.method == "HEAD";
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, plain ? nullptr : request.method.c_str());
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.list);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &transfer);
  handle->error[0] = '\0';
  const CURLcode code = curl_easy_perform(easy);
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &outcome.response.status);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, nullptr);
  if (code != CURLE_OK)
    outcome.error = {errno_of(code), handle->error[0] != '\0' ? handle->error : curl_easy_strerror(code)};
  if (transfer.stalled)
    outcome.error = {ETIMEDOUT, "no byte came for " + std::to_string(options_.stall_timeout.count()) + " s"};
  give_back(std::move(handle));
  return outcome;
}

}  // namespace winnow::s3
