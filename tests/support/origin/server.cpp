#include "tests/support/origin/server.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cctype>
#include <iostream>
#include <memory>
#include <random>
#include <utility>

#include "tests/support/origin/digests.h"
#include "tests/support/origin/traffic.h"

namespace origin {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kSlice =
    32 << 10;  // what leaves at once, so that connections share a capped wire evenly
constexpr std::uint64_t kMaxUpload = 256 << 20;
constexpr auto kStallFor = std::chrono::minutes(10);
constexpr std::size_t kTrickle = 10;  // bytes, with pauses between
constexpr auto kTricklePause = std::chrono::milliseconds(100);
constexpr const char* kFaultNames[] = {"", "fail", "reset", "stall", "truncate", "corrupt", "trickle"};

struct Shared {
  Bucket& bucket;
  Faults faults;
  Traffic traffic;
  std::mt19937 random{1};
};

tcp::socket& socket_of(tcp::socket& stream) { return stream; }
tcp::socket& socket_of(asio::ssl::stream<tcp::socket>& stream) { return stream.next_layer(); }

template <typename Message>
Request to_request(const Message& message) {
  Request request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  for (const auto& field : message) {
    std::string name(field.name_string());
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    request.headers[name] = std::string(field.value());
  }
  request.body = message.body();
  parse_target(request);
  return request;
}

std::string head_of(const Answer& answer) {
  std::string head =
      "HTTP/1.1 " + std::to_string(answer.status) + " " +
      std::string(http::obsolete_reason(static_cast<http::status>(answer.status))) +
      "\r\nServer: winnow-test-origin\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n";
  for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
  return head + "\r\n";
}

Answer failed(const Faults& faults) {
  const int status = faults.fail_status();
  const char* code = status == 500   ? "InternalError"
                     : status == 403 ? "AccessDenied"
                     : status == 301 ? "PermanentRedirect"
                                     : "SlowDown";
  Answer answer = error_answer(status, code, "On command");
  if (!faults.fail_region().empty()) answer.headers.emplace_back("x-amz-bucket-region", faults.fail_region());
  return answer;
}

// Another content of the same length: one byte somewhere is wrong.
void corrupt(Answer& answer, std::mt19937& random) {
  if (answer.body.empty()) return;
  std::string bytes(answer.body);
  bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
  answer.set_text(std::move(bytes));
}

template <typename Stream>
class Session {
 public:
  Session(Stream& stream, Shared& shared)
      : stream_(stream), shared_(shared), timer_(socket_of(stream).get_executor()) {}

  asio::awaitable<void> run() {
    beast::flat_buffer buffer;
    while (true) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(kMaxUpload);
      parser.header_limit(64 << 10);
      error_code error;
      co_await http::async_read_header(stream_, buffer, parser,
                                       asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return;
      if (beast::iequals(parser.get()[http::field::expect], "100-continue"))
        co_await asio::async_write(stream_, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
                                   asio::redirect_error(asio::use_awaitable, error));
      co_await http::async_read(stream_, buffer, parser, asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return;
      const bool keep = parser.get().keep_alive();
      shared_.traffic.begin();
      const bool whole = co_await serve(to_request(parser.get()));
      shared_.traffic.end();
      if (!whole || !keep) co_return;
    }
  }

 private:
  // False if the connection must not go on.
  asio::awaitable<bool> serve(Request request) {
    const auto came_at = Clock::now();
    Answer answer = shared_.bucket.answer(request, std::time(nullptr));
    Fault fault = Fault::kNone;
    if (shared_.faults.is_over(shared_.traffic.being_served())) {
      answer = error_answer(503, "SlowDown", "Please reduce your request rate.");
    } else {
      fault = shared_.faults.draw(answer.operation);
      if (fault == Fault::kFail) answer = failed(shared_.faults);
    }
    if (fault == Fault::kCorrupt) corrupt(answer, shared_.random);
    answer.head_only = request.method == "HEAD";
    shared_.traffic.note(request, answer, kFaultNames[static_cast<int>(fault)]);
    if (shared_.faults.latency().count() > 0) co_await wait_until(came_at + shared_.faults.latency());
    if (fault == Fault::kReset) {
      socket_of(stream_).set_option(asio::socket_base::linger(true, 0));
      socket_of(stream_).close();
      co_return false;
    }
    co_return co_await send(answer, fault);
  }

  asio::awaitable<bool> send(const Answer& answer, Fault fault) {
    const std::string head = head_of(answer);
    std::string_view body = answer.head_only ? std::string_view() : answer.body;
    const bool breaks_off = fault == Fault::kTruncate || fault == Fault::kStall;
    if (breaks_off) body = body.substr(0, body.size() / 2);
    error_code error;
    bool head_sent = false;
    do {
      const std::string_view slice = body.substr(0, fault == Fault::kTrickle ? kTrickle : kSlice);
      body.remove_prefix(slice.size());
      if (!slice.empty()) co_await wait_until(shared_.faults.reserve(slice.size(), Clock::now()));
      const std::array<asio::const_buffer, 2> parts = {asio::buffer(head_sent ? std::string_view() : head),
                                                       asio::buffer(slice)};
      co_await asio::async_write(stream_, parts, asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return false;
      head_sent = true;
      if (fault == Fault::kTrickle) co_await wait_until(Clock::now() + kTricklePause);
      shared_.traffic.add_bytes(slice.size());
    } while (!body.empty());
    if (fault == Fault::kStall) co_await wait_until(Clock::now() + kStallFor);
    co_return !breaks_off;
  }

  asio::awaitable<void> wait_until(Clock::time_point when) {
    if (when <= Clock::now()) co_return;
    timer_.expires_at(when);
    error_code error;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, error));
  }

  Stream& stream_;
  Shared& shared_;
  asio::steady_timer timer_;
};

asio::awaitable<void> serve_plain(tcp::socket socket, Shared& shared) {
  co_await Session<tcp::socket>(socket, shared).run();
}

asio::awaitable<void> serve_tls(tcp::socket socket, Shared& shared, asio::ssl::context& context) {
  asio::ssl::stream<tcp::socket> stream(std::move(socket), context);
  error_code error;
  co_await stream.async_handshake(asio::ssl::stream_base::server,
                                  asio::redirect_error(asio::use_awaitable, error));
  if (!error) co_await Session<asio::ssl::stream<tcp::socket>>(stream, shared).run();
}

Answer control(const Request& request, Shared& shared) {
  const auto json = [](const nlohmann::json& value) {
    Answer answer;
    answer.set_text(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return answer;
  };
  if (request.raw_path == "/counts") return json(shared.traffic.counts());
  if (request.raw_path == "/log") return json(shared.traffic.log());
  if (request.raw_path == "/faults") {
    shared.faults.set(nlohmann::json::parse(request.body));
  } else if (request.raw_path == "/clear") {
    shared.faults.clear();
    shared.traffic.clear();
  } else if (request.raw_path == "/object" && request.method == "PUT") {
    shared.bucket.objects().put(request.parameter("key"), request.body);
  } else if (request.raw_path == "/object" && request.method == "DELETE") {
    shared.bucket.objects().remove(request.parameter("key"));
  } else if (request.raw_path == "/account") {
    const auto wishes = nlohmann::json::parse(request.body);
    Account& account = shared.bucket.account();
    account.access_key = wishes.value("access_key", account.access_key);
    account.secret_key = wishes.value("secret_key", account.secret_key);
    account.session_token = wishes.value("session_token", account.session_token);
    account.region = wishes.value("region", account.region);
    account.any_token = wishes.value("any_token", account.any_token);
    account.anonymous = wishes.value("anonymous", account.anonymous);
  } else {
    throw std::invalid_argument("no such command: " + request.method + " " + request.raw_path);
  }
  return json(nlohmann::json::object());
}

asio::awaitable<void> serve_control(tcp::socket socket, Shared& shared) {
  beast::flat_buffer buffer;
  error_code error;
  while (true) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(kMaxUpload);
    co_await http::async_read(socket, buffer, parser, asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    Answer answer;
    try {
      answer = control(to_request(parser.get()), shared);
    } catch (const std::exception& refused) {
      answer = error_answer(400, "BadCommand", refused.what());
    }
    const std::string text = head_of(answer) + std::string(answer.body);
    co_await asio::async_write(socket, asio::buffer(text), asio::redirect_error(asio::use_awaitable, error));
    if (error || !parser.get().keep_alive()) co_return;
  }
}

template <typename Serve>
asio::awaitable<void> accept(tcp::acceptor& acceptor, Serve serve) {
  while (true) {
    error_code error;
    tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::operation_aborted) co_return;
    if (error) continue;
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)), asio::detached);
  }
}

}  // namespace

void run_server(Bucket& bucket, const ServerOptions& options) {
  asio::io_context io(1);
  Shared shared{bucket};
  const auto loopback = asio::ip::make_address("127.0.0.1");
  tcp::acceptor acceptor(io, {loopback, options.port});
  tcp::acceptor control_acceptor(io, {loopback, options.control_port});
  asio::ssl::context context(asio::ssl::context::tls_server);
  const bool tls = !options.certificate.empty();
  if (tls) {
    context.use_certificate_chain_file(options.certificate);
    context.use_private_key_file(options.key, asio::ssl::context::pem);
  }
  asio::co_spawn(io,
                 accept(acceptor,
                        [&](tcp::socket socket) {
                          shared.traffic.connect();
                          return tls ? serve_tls(std::move(socket), shared, context)
                                     : serve_plain(std::move(socket), shared);
                        }),
                 asio::detached);
  asio::co_spawn(
      io,
      accept(control_acceptor, [&](tcp::socket socket) { return serve_control(std::move(socket), shared); }),
      asio::detached);
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](error_code, int) { _exit(0); });  // nobody is waited for
  std::cout << acceptor.local_endpoint().port() << " " << control_acceptor.local_endpoint().port()
            << std::endl;
  io.run();
}

}  // namespace origin
