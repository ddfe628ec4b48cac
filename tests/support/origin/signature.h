// Verifies AWS Signature Version 4 in the Authorization header, strictly: the scope, the signed headers (host
// and every x-amz-* must be among them), the payload's hash, the session token, and a clock within fifteen
// minutes.
#pragma once

#include <ctime>
#include <optional>
#include <string>

#include "tests/support/origin/request.h"

namespace origin {

struct Account {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty: none may be sent
  std::string region = "us-east-1";
  bool any_token = false;     // whichever token is sent is taken for a good one
  bool anonymous = false;  // unsigned requests are let in; signed ones are still verified
};

// Nothing if it may come in, else the 400 or 403 to answer with.
std::optional<Answer> refuse(const Account& account, const Request& request, std::time_t now);

}  // namespace origin
