// Threads for work that may block. Urgent work goes before the rest. Threads are started as they are needed,
// up to `max_threads`; together, running jobs hold at most `max_weight` (bytes), except that one may always
// run. Thread-safe. The destructor drops what has not begun and waits for what has.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace winnow {

class WorkerPool {
 public:
  enum class Urgency { kDemand, kBackground };
  struct Options {
    std::string name;  // of the threads, at most 15 characters
    unsigned max_threads = 1;
    std::uint64_t max_weight = UINT64_MAX;
  };

  explicit WorkerPool(Options options);
  ~WorkerPool();

  bool submit(Urgency urgency, std::uint64_t weight, std::function<void()> job);  // false if stopping
  void stop();  // no further job begins; returns when the running ones have ended

  std::size_t waiting() const;

 private:
  struct Job {
    std::uint64_t weight = 0;
    std::function<void()> run;
  };

  void work();
  std::deque<Job>* runnable_queue();  // with mutex_ held; null if nothing may begin now

  const Options options_;
  mutable std::mutex mutex_;  // guards all below; never held while a job runs
  std::condition_variable wake_;
  std::deque<Job> demand_;
  std::deque<Job> background_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  std::size_t running_ = 0;
  std::uint64_t running_weight_ = 0;
  bool stopping_ = false;
};

}  // namespace winnow
