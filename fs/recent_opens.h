// Descriptors of files that were opened a moment ago, as fanotify handed them over: pages dropped through one cost no
// open of our own, nor the event that it would make. Each keeps the mount busy: so none is kept until one is asked for,
// and whoever adds them clears them when opens stop. Thread-safe.
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
  void clear();                            // until the next take(), nothing is kept

 private:
  struct Opened {
    NodeId id{};
    FileDescriptor fd;
  };

  std::mutex mutex_;  // guards all below; a leaf lock
  bool are_wanted_ = false;
  std::array<Opened, kMost> opened_;
  std::size_t next_ = 0;
};

}  // namespace winnow
