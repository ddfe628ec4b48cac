// Threads for work that may block. Urgent work goes before the rest, and of threads and weight a part can be
// kept for it alone. Threads are started as they are needed, up to `max_threads`; together, running jobs hold
// at most `max_weight` (bytes), except that one may always run. Thread-safe. The destructor drops what has not
// begun and waits for what has.
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
    unsigned background_threads = UINT32_MAX;        // of those, at most so many for background work
    std::uint64_t background_weight = UINT64_MAX;
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

  struct Load {
    std::size_t jobs = 0;
    std::uint64_t weight = 0;
    bool has_room(std::uint64_t more, std::uint64_t most) const {
      return jobs == 0 || (weight <= most && more <= most - weight);
    }
    void add(const Job& job) {
      ++jobs;
      weight += job.weight;
    }
    void take_off(const Job& job) {
      --jobs;
      weight -= job.weight;
    }
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
  Load running_;             // all there are
  Load running_background_;  // of them
  bool stopping_ = false;
};

}  // namespace winnow
