// Takes a reader's answer, from whichever thread it comes, and counts how often it came.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cache/flight_table.h"

namespace winnow {

inline bool operator==(const Range& a, const Range& b) { return a.offset == b.offset && a.size == b.size; }

inline std::string to_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.span().data()), bytes.size()};
}

inline Bytes to_bytes(const std::string& text) {
  auto data = std::make_shared_for_overwrite<std::byte[]>(text.size());
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(data.get()));
  return Bytes(std::move(data), text.size());
}

class Answer {
 public:
  BytesWaiter waiter() {
    return [state = state_](Result<Bytes> bytes) {
      const std::lock_guard lock(state->mutex);
      ++state->times;
      state->result = std::move(bytes);
      state->changed.notify_all();
    };
  }

  int times() const {
    const std::lock_guard lock(state_->mutex);
    return state_->times;
  }
  bool arrived() const { return times() > 0; }

  // Waits for it, but not for ever: ETIME after that.
  Result<Bytes> wait() const {
    std::unique_lock lock(state_->mutex);
    const bool came =
        state_->changed.wait_for(lock, std::chrono::seconds(20), [this] { return state_->times > 0; });
    if (!came) return errno_error(ETIME);
    return *state_->result;
  }
  std::string text() const {
    const auto result = wait();
    return result ? to_text(result.value()) : "error: " + result.error().message();
  }
  std::error_code error() const {
    const auto result = wait();
    return result ? std::error_code() : result.error();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Result<Bytes>> result;
    int times = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace winnow
