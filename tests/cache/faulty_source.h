// A source around a real one that fails, stalls and counts as a test tells it to. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "cache/flight_table.h"
#include "cache/source.h"

namespace winnow {

class FaultySource final : public Source {
 public:
  explicit FaultySource(Source& inner) : inner_(inner) {}

  // The next `times` reads fail with `code`, after those told before.
  void fail_next(int code, int times = 1) {
    const std::lock_guard lock(mutex_);
    failures_.insert(failures_.end(), static_cast<std::size_t>(times), code);
  }
  void fail_every_read(int code) {
    const std::lock_guard lock(mutex_);
    fail_always_ = code;
  }
  void fail_stat(int code) {
    const std::lock_guard lock(mutex_);
    fail_stat_ = code;
  }
  void fail_list(int code, const std::string& where) {
    const std::lock_guard lock(mutex_);
    fail_list_ = code;
    failed_at_ = where;
  }

  // Reads wait from now on, until release().
  void stall() {
    const std::lock_guard lock(mutex_);
    stalled_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    stalled_ = false;
    changed_.notify_all();
  }
  // Returns when `count` reads wait; false if that does not come to pass.
  bool wait_for_stalled(int count, std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return waiting_ >= count; });
  }

  // Runs before each read, on the reading thread: a place to change the file behind its back.
  void before_read(std::function<void()> hook) {
    const std::lock_guard lock(mutex_);
    before_read_ = std::move(hook);
  }

  int reads() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(ranges_.size());
  }
  std::vector<Range> ranges() const {
    const std::lock_guard lock(mutex_);
    return ranges_;
  }

  std::string identity() const override { return inner_.identity(); }
  Result<Listing> list(ScanProgress& progress) override {
    {
      const std::lock_guard lock(mutex_);
      if (fail_list_ != 0) {
        progress.failed_at = failed_at_;
        return errno_error(fail_list_);
      }
    }
    return inner_.list(progress);
  }
  Result<FileStat> stat(const std::string& path) override {
    {
      const std::lock_guard lock(mutex_);
      if (fail_stat_ != 0) return errno_error(fail_stat_);
    }
    return inner_.stat(path);
  }
  Result<Bytes> read(const std::string& path, const Version& version, std::uint64_t offset,
                     std::size_t size) override {
    std::function<void()> hook;
    {
      std::unique_lock lock(mutex_);
      ranges_.push_back({offset, size});
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !stalled_; });
      --waiting_;
      if (!failures_.empty()) {
        const int code = failures_.front();
        failures_.pop_front();
        return errno_error(code);
      }
      if (fail_always_ != 0) return errno_error(fail_always_);
      hook = before_read_;
    }
    if (hook) hook();
    return inner_.read(path, version, offset, size);
  }

 private:
  Source& inner_;
  mutable std::mutex mutex_;  // guards all below; not held over the inner source
  std::condition_variable changed_;
  std::deque<int> failures_;
  int fail_always_ = 0;
  int fail_stat_ = 0;
  int fail_list_ = 0;
  std::string failed_at_;
  bool stalled_ = false;
  int waiting_ = 0;
  std::function<void()> before_read_;
  std::vector<Range> ranges_;
};

}  // namespace winnow
