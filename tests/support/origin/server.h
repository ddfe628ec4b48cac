// The origin's sockets: S3 on one port, plain or TLS, and the control port beside it. All on the caller's
// thread. Control: POST /faults (see faults.h), POST /clear (faults and counts), GET /counts, GET /log (JSON
// lines of every request), PUT and DELETE /object?key=K, POST /account (new credentials or region).
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/origin/bucket.h"
#include "tests/support/origin/faults.h"

namespace origin {

struct ServerOptions {
  std::uint16_t port = 0;  // 0: any
  std::uint16_t control_port = 0;
  std::string certificate;  // PEM files; empty: no TLS
  std::string key;
};

// Says "port control_port" on standard output and serves until SIGTERM or SIGINT.
void run_server(Bucket& bucket, const ServerOptions& options);

}  // namespace origin
