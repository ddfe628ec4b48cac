// How often the kernel was given each node, less what it forgot: at zero, its inode, and the pages with it,
// are gone. A FORGET may arrive after a newer LOOKUP of the same node, so FORGET alone does not tell.
// Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>

#include "fs/node_id.h"
#include "policy/paged_array.h"

namespace winnow {

class LookupCounts {
 public:
  void add(NodeId id) {
    const std::lock_guard lock(mutex_);
    counts_.set(value(id), counts_.get(value(id)) + 1);
  }

  bool has(NodeId id) const {
    const std::lock_guard lock(mutex_);
    return counts_.get(value(id)) > 0;
  }

  // True if the kernel no longer has the node. A node given by an earlier process counts as never given.
  bool forget(NodeId id, std::uint64_t times) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t count = counts_.get(value(id));
    const std::uint32_t left = times >= count ? 0 : count - static_cast<std::uint32_t>(times);
    counts_.set(value(id), left);
    return left == 0;
  }

 private:
  mutable std::mutex mutex_;  // guards counts_; a leaf lock
  PagedArray<std::uint32_t> counts_;
};

}  // namespace winnow
