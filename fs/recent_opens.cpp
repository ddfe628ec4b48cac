#include "fs/recent_opens.h"

#include <algorithm>
#include <utility>

namespace winnow {

// Descriptors are closed without the lock: the last one of a file does work in the kernel.
void RecentOpens::add(NodeId id, FileDescriptor fd) {
  const std::lock_guard lock(mutex_);
  if (!are_wanted_) return;
  std::swap(opened_[next_].fd, fd);
  opened_[next_].id = id;
  next_ = (next_ + 1) % kMost;
}

FileDescriptor RecentOpens::take(NodeId id) {
  const std::lock_guard lock(mutex_);
  are_wanted_ = true;
  const auto found =
      std::find_if(opened_.begin(), opened_.end(), [&](const Opened& one) { return one.fd && one.id == id; });
  return found == opened_.end() ? FileDescriptor() : std::move(found->fd);
}

void RecentOpens::clear() {
  decltype(opened_) closing;
  const std::lock_guard lock(mutex_);
  are_wanted_ = false;
  std::swap(opened_, closing);
}

}  // namespace winnow
