// Says in the log why reads fail: the first at once, then a line every ten seconds at most, with how many there were
// between, since a source that is away fails every read. Thread-safe; the clock comes from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>

namespace winnow {

class FailureLog {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPause{10};

  // The line to write, if it is time for one.
  std::optional<std::string> note(const std::string& path, const std::error_code& error, Clock::time_point now);

 private:
  std::mutex mutex_;  // guards the two below; a leaf lock
  std::uint64_t unsaid_ = 0;
  std::optional<Clock::time_point> said_at_;
};

}  // namespace winnow
