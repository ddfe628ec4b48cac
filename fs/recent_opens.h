// Descriptors of files that were opened a moment ago, as fanotify handed them over: pages dropped through one cost no open
// of our own, nor the event that it would make. Whoever adds them clears them when opens stop, since each keeps the mount
// busy. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "cache/file_descriptor.h"
#include "fs/node_id.h"

namespace winnow {

class RecentOpens {
 public:
  static constexpr std::size_t kMost = 256;

  void add(NodeId id, FileDescriptor fd);  // the oldest makes room
  FileDescriptor take(NodeId id);          // an empty one if it is not among them
  void clear();

 private:
  struct Opened {
    NodeId id{};
    FileDescriptor fd;
  };

  std::mutex mutex_;  // guards the two below; a leaf lock
  std::array<Opened, kMost> opened_;
  std::size_t next_ = 0;
};

}  // namespace winnow
