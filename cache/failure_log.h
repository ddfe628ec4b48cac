// Keeps a log readable where one cause makes many lines, as a source that is away fails every read: the first is said at
// once, then one every ten seconds at most, with how many there were between. Thread-safe; the clock comes from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace winnow {

class FailureLog {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPause{10};

  // The line to write, if it is time for one.
  std::optional<std::string> note(std::string line, Clock::time_point now);

 private:
  std::mutex mutex_;  // guards the two below; a leaf lock
  std::uint64_t unsaid_ = 0;
  std::optional<Clock::time_point> said_at_;
};

}  // namespace winnow
