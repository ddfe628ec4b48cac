// Looks at and drops page cache through our own mount, as any reader could. (notify_inval_inode would drop
// the attributes too, and cost a GETATTR later.) Holds nothing open between calls, or the mount could not be
// unmounted. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "cache/file_descriptor.h"

namespace winnow {

class MountedPages {
 public:
  // Before the mount answers, no call below finds anything.
  void attach(const std::string& mountpoint);
  void detach();

  std::optional<std::uint64_t> resident(const std::string& path) const;
  // Of a mount that has left its path, nothing is left to drop: its pages go with it.
  std::optional<std::uint64_t> drop(const std::string& path) const;
  static std::optional<std::uint64_t> drop(const FileDescriptor& ours);  // of a file opened already

 private:
  FileDescriptor open_ours(const std::string& path) const;
  bool has_left() const;

  std::string mountpoint_;
  std::atomic<std::uint64_t> device_{0};  // 0: detached
};

}  // namespace winnow
