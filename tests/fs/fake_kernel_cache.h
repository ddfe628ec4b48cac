// The kernel's caches, as a test scripts them: remembers what it was told, in order. Thread-safe.
#pragma once

#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cache/result.h"
#include "cache/worker_pool.h"
#include "fs/kernel_cache.h"

namespace winnow {

class FakeKernelCache final : public KernelCache {
 public:
  struct Store {
    NodeId id{};
    std::uint64_t offset = 0;
    std::string bytes;
  };

  // Runs at the start of each call that tells the kernel something, without a lock.
  std::function<void(const std::string& event)> on_event;

  void refuse_stores(int code) {
    const std::lock_guard lock(mutex_);
    store_error_ = code;
  }
  // What resident() and drop() say of a path from now on; nullopt, as for unknown paths: cannot tell.
  void set_resident(const std::string& path, std::optional<std::uint64_t> bytes) {
    const std::lock_guard lock(mutex_);
    resident_[path] = bytes;
  }
  void set_left_after_drop(const std::string& path, std::optional<std::uint64_t> bytes) {
    const std::lock_guard lock(mutex_);
    left_[path] = bytes;
  }

  std::vector<Store> stores() const {
    const std::lock_guard lock(mutex_);
    return stores_;
  }
  std::vector<std::string> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::size_t count(const std::string& event) const {
    const auto all = events();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), event));
  }
  bool was_asked_for(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return asked_for_.contains(path);
  }
  // Something of the test's own, to see its place among the events.
  void note(const std::string& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }

  std::error_code store(NodeId id, std::uint64_t offset, std::span<const std::byte> bytes) override {
    tell("store " + std::to_string(value(id)));
    const std::lock_guard lock(mutex_);
    if (store_error_ != 0) return errno_error(store_error_);
    stores_.push_back({id, offset, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    return {};
  }
  void invalidate_name(NodeId folder, std::string_view name) override {
    tell("name " + std::to_string(value(folder)) + " " + std::string(name));
  }
  void invalidate_node(NodeId id) override { tell("node " + std::to_string(value(id))); }
  void invalidate_attributes(NodeId id) override { tell("attributes " + std::to_string(value(id))); }
  std::optional<std::uint64_t> resident(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    asked_for_.insert(path);
    const auto found = resident_.find(path);
    return found != resident_.end() ? found->second : std::nullopt;
  }
  std::optional<std::uint64_t> drop(NodeId, const std::string& path) override {
    tell("drop " + path);
    const std::lock_guard lock(mutex_);
    const auto found = left_.find(path);
    return found != left_.end() ? found->second : std::optional<std::uint64_t>(0);
  }

 private:
  void tell(const std::string& event) {
    if (on_event) on_event(event);
    note(event);
  }

  mutable std::mutex mutex_;  // guards all below
  int store_error_ = 0;
  std::map<std::string, std::optional<std::uint64_t>> resident_;
  std::map<std::string, std::optional<std::uint64_t>> left_;
  std::set<std::string> asked_for_;
  std::vector<Store> stores_;
  std::vector<std::string> events_;
};

// Returns when a pool of one thread has done all it was given.
inline void drain(WorkerPool& pool) {
  const auto done = std::make_shared<std::promise<void>>();
  pool.submit(WorkerPool::Urgency::kBackground, 0, [done] { done->set_value(); });
  done->get_future().wait();
}

}  // namespace winnow
