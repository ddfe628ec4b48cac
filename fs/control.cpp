#include "fs/control.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include "cache/result.h"

namespace winnow {

namespace {

constexpr std::size_t kLongestLine = 65536;

// A socket's name holds 108 bytes, a state directory's path may have more: go by way of an open folder.
struct SocketAddress {
  explicit SocketAddress(const std::string& path)
      : folder(open(std::filesystem::path(path).parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    address.sun_family = AF_UNIX;
    const std::string name = "/proc/self/fd/" + std::to_string(folder.get()) + "/" +
                             std::filesystem::path(path).filename().string();
    std::strncpy(address.sun_path, name.c_str(), sizeof address.sun_path - 1);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  FileDescriptor folder;
  sockaddr_un address{};
};

// Up to the end of a line, or until `wake` is readable: a caller who says nothing must not keep us.
std::string read_line(int fd, int wake = -1) {
  std::string line;
  char c = 0;
  while (line.size() < kLongestLine) {
    pollfd watched[] = {{fd, POLLIN, 0}, {wake, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0 && errno == EINTR) continue;
    if (watched[1].revents != 0) break;
    const ssize_t n = read(fd, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || c == '\n') break;
    line += c;
  }
  return line;
}

void write_line(int fd, const std::string& line) {
  const std::string text = line + '\n';
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

ControlServer::ControlServer(const std::string& socket_path, Handler handler)
    : path_(socket_path),
      handler_(std::move(handler)),
      listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      calls_({.name = "winnow-control", .max_threads = 4}) {
  unlink(path_.c_str());
  const SocketAddress address(path_);
  if (bind(listener_.get(), address.get(), sizeof address.address) != 0 || chmod(path_.c_str(), 0600) != 0 ||
      listen(listener_.get(), 8) != 0) {
    throw StartupError("control socket " + path_ + " cannot be made: " + errno_text(errno) +
                       "; give a --state-dir on a filesystem that holds sockets");
  }
  thread_ = std::thread([this] { accept_calls(); });
}

ControlServer::~ControlServer() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
  unlink(path_.c_str());
  calls_.stop();
}

void ControlServer::accept_calls() {
  pollfd watched[] = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  while (true) {
    if (poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if (watched[1].revents != 0) return;
    auto connection =
        std::make_shared<FileDescriptor>(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!*connection) continue;
    calls_.submit(WorkerPool::Urgency::kDemand, 0, [this, connection] { serve(connection->get()); });
  }
}

void ControlServer::serve(int connection) const {
  try {
    nlohmann::json answer = handler_(nlohmann::json::parse(read_line(connection, wake_.get())));
    answer["ok"] = true;
    write_line(connection, dump(answer));
  } catch (const std::exception& error) {
    write_line(connection, dump({{"ok", false}, {"error", error.what()}}));
  }
}

namespace {

// Between two workers nobody listens, for a moment.
FileDescriptor connect_to_daemon(const std::string& socket_path, std::chrono::milliseconds patience) {
  const SocketAddress address(socket_path);
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (true) {
    FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(fd.get(), address.get(), sizeof address.address) == 0) return fd;
    const int error = errno;
    if ((error != ECONNREFUSED && error != ENOENT) || std::chrono::steady_clock::now() > give_up) {
      throw StartupError("the daemon does not answer at " + socket_path + ": " + errno_text(error) +
                         "; run as the user who mounted, or as root");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

nlohmann::json call_daemon(const std::string& socket_path, const nlohmann::json& request,
                           std::chrono::milliseconds patience) {
  const FileDescriptor fd = connect_to_daemon(socket_path, patience);
  write_line(fd.get(), dump(request));
  const auto answer = nlohmann::json::parse(read_line(fd.get()), nullptr, false);
  if (!answer.is_object())
    throw StartupError("the daemon ended before it answered; see winnow.log in its state directory");
  if (!answer.value("ok", false)) throw StartupError(answer.value("error", "the daemon gave no reason"));
  return answer;
}

}  // namespace winnow
