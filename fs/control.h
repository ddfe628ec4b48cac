// How commands talk to a running daemon: a Unix socket in the state directory, one JSON object a line each
// way.
//   {"command": "refresh"}                      -> {"ok": true, "added": n, "removed": n, "changed": n,
//   "files": n}
//   {"command": "record", "file": [bytes], "limit_bytes": n}  -> {"ok": true}
//   {"command": "record_stop"}                  -> {"ok": true, "file": "...", "written": n, "lost": n, ...}
//   {"command": "unmount", "kind": "plain|lazy|force"}  -> {"ok": true}
// A failure is {"ok": false, "error": "one sentence"}. Only the daemon's user and root can connect.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "cache/file_descriptor.h"
#include "cache/worker_pool.h"

namespace winnow {

class ControlServer {
 public:
  // Called on a thread of its own; what it throws becomes the error sentence.
  using Handler = std::function<nlohmann::json(const nlohmann::json&)>;

  // Throws StartupError.
  ControlServer(const std::string& socket_path, Handler handler);
  ~ControlServer();  // waits for calls under way

 private:
  void accept_calls();
  void serve(int connection) const;

  const std::string path_;
  const Handler handler_;
  FileDescriptor listener_;
  FileDescriptor wake_;
  WorkerPool calls_;
  std::thread thread_;
};

// Throws StartupError if nobody answers, or the answer is a failure. `patience`: for one worker to follow another.
nlohmann::json call_daemon(const std::string& socket_path, const nlohmann::json& request,
                           std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace winnow
