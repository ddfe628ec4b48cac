#include "cache/worker_pool.h"

#include <pthread.h>

namespace winnow {

WorkerPool::WorkerPool(Options options) : options_(std::move(options)) {}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  std::vector<std::thread> threads;
  std::deque<Job> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    dropped.swap(demand_);
    background_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

bool WorkerPool::submit(Urgency urgency, std::uint64_t weight, std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    (urgency == Urgency::kDemand ? demand_ : background_).push_back({weight, std::move(job)});
    const std::size_t queued = demand_.size() + background_.size();
    if (idle_ < queued && threads_.size() < options_.max_threads) {
      threads_.emplace_back([this] { work(); });
      pthread_setname_np(threads_.back().native_handle(), options_.name.c_str());
    }
  }
  wake_.notify_one();
  return true;
}

std::size_t WorkerPool::waiting() const {
  const std::lock_guard lock(mutex_);
  return demand_.size() + background_.size();
}

std::deque<WorkerPool::Job>* WorkerPool::runnable_queue() {
  for (auto* queue : {&demand_, &background_}) {
    if (queue->empty()) continue;
    const bool fits = running_ == 0 || (running_weight_ <= options_.max_weight &&
                                        queue->front().weight <= options_.max_weight - running_weight_);
    return fits ? queue : nullptr;  // background does not overtake demand that waits for room
  }
  return nullptr;
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || runnable_queue() != nullptr; });
    --idle_;
    if (stopping_) return;
    auto* queue = runnable_queue();
    Job job = std::move(queue->front());
    queue->pop_front();
    ++running_;
    running_weight_ += job.weight;
    if (idle_ > 0 && runnable_queue() != nullptr) wake_.notify_one();  // one more may begin: pass it on
    lock.unlock();
    job.run();
    job.run = nullptr;  // what it holds is let go before its weight is
    lock.lock();
    --running_;
    running_weight_ -= job.weight;
    // This thread takes the next job itself; what else now has room, it passes on.
  }
}

}  // namespace winnow
