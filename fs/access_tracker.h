// Observes every open on the mount beside the read path, through a fanotify mark on the filesystem, which
// sees readers in containers and behind bind mounts too. Opens of one file in quick succession may be merged
// into one event; a full queue loses events, which is counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "cache/file_descriptor.h"
#include "fs/node_id.h"
#include "fs/recent_opens.h"

namespace winnow {

class AccessTracker {
 public:
  // Of a thread: several that walk in one process each go their own way.
  using OnOpen = std::function<void(NodeId, int thread)>;

  static bool is_permitted();
  // Null if the kernel does not permit it; `why` then says so. While opens keep coming, `recent` gets what was opened.
  static std::unique_ptr<AccessTracker> start(const std::string& mountpoint, OnOpen on_open, RecentOpens& recent,
                                              std::string& why);
  ~AccessTracker();

  // How often the queue overflowed: each time, an unknown number of opens went unseen.
  std::uint64_t overflows() const { return overflows_; }
  std::uint64_t events() const { return events_; }

 private:
  AccessTracker(FileDescriptor fanotify, FileDescriptor wake, OnOpen on_open, RecentOpens& recent);
  void run();
  bool drain();  // false if there was nothing

  const FileDescriptor fanotify_;
  const FileDescriptor wake_;
  const OnOpen on_open_;
  RecentOpens& recent_;
  std::atomic<std::uint64_t> overflows_{0};
  std::atomic<std::uint64_t> events_{0};
  std::thread thread_;
};

}  // namespace winnow
