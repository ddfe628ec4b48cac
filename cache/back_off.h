// How long to wait before asking a source again, and whether that may help at all.
#pragma once

#include <chrono>
#include <system_error>

namespace winnow {

// A file that changed, went or is refused stays so; a storage that does not answer may do so again.
bool is_passing(const std::error_code& error);

// Pauses that double from 100 ms to 5 s, each shortened by chance to between half of it and all, so that many
// who failed together do not come back together. Not thread-safe.
class BackOff {
 public:
  std::chrono::milliseconds next();

 private:
  std::chrono::milliseconds length_{100};
};

}  // namespace winnow
