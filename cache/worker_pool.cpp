#include "cache/worker_pool.h"

#include <pthread.h>

namespace winnow {

WorkerPool::WorkerPool(Options options) : options_(std::move(options)) {}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  std::vector<std::thread> threads;
  std::deque<Job> dropped;  // let go of without the lock: what they hold may call back
  std::deque<Job> dropped_background;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    dropped.swap(demand_);
    dropped_background.swap(background_);
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
  if (!demand_.empty()) {  // background does not overtake demand that waits for room
    return running_.has_room(demand_.front().weight, options_.max_weight) ? &demand_ : nullptr;
  }
  if (background_.empty() || running_background_.jobs >= options_.background_threads) return nullptr;
  const std::uint64_t weight = background_.front().weight;
  const bool fits = running_.has_room(weight, options_.max_weight) &&
                    running_background_.has_room(weight, options_.background_weight);
  return fits ? &background_ : nullptr;
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || runnable_queue() != nullptr; });
    --idle_;
    if (stopping_) return;
    auto* queue = runnable_queue();
    const bool is_background = queue == &background_;
    Job job = std::move(queue->front());
    queue->pop_front();
    running_.add(job);
    if (is_background) running_background_.add(job);
    if (idle_ > 0 && runnable_queue() != nullptr) wake_.notify_one();  // one more may begin: pass it on
    lock.unlock();
    job.run();
    job.run = nullptr;  // what it holds is let go before its weight is
    lock.lock();
    running_.take_off(job);
    if (is_background) running_background_.take_off(job);
    // This thread takes the next job itself; what else now has room, it passes on.
  }
}

}  // namespace winnow
