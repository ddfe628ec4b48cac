#include "cache/failure_log.h"

namespace winnow {

std::optional<std::string> FailureLog::note(std::string line, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (said_at_ && now < *said_at_ + kPause) {
    ++unsaid_;
    return std::nullopt;
  }
  if (unsaid_ > 0) line += " (and " + std::to_string(unsaid_) + " others since the last such line)";
  unsaid_ = 0;
  said_at_ = now;
  return line;
}

}  // namespace winnow
