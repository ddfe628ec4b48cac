// KernelCache over the FUSE device: notifications written to it, and page cache looked at through the mount.
#pragma once

#include "fs/kernel_cache.h"
#include "fs/mounted_pages.h"
#include "fs/recent_opens.h"

namespace winnow {

class FuseKernelCache final : public KernelCache {
 public:
  explicit FuseKernelCache(int device_fd) : device_fd_(device_fd) {}

  MountedPages& pages() { return pages_; }
  RecentOpens& recent_opens() { return recent_opens_; }

  std::error_code store(NodeId id, std::uint64_t offset, std::span<const std::byte> bytes) override;
  void invalidate_name(NodeId folder, std::string_view name) override;
  void invalidate_node(NodeId id) override;
  void invalidate_attributes(NodeId id) override;
  std::optional<std::uint64_t> resident(const std::string& path) override { return pages_.resident(path); }
  std::optional<std::uint64_t> drop(NodeId id, const std::string& path) override {
    const FileDescriptor opened = recent_opens_.take(id);
    return opened ? MountedPages::drop(opened) : pages_.drop(path);
  }

 private:
  std::error_code notify(int code, const void* head, std::size_t head_size, const void* body,
                         std::size_t body_size);

  const int device_fd_;
  MountedPages pages_;
  RecentOpens recent_opens_;
};

}  // namespace winnow
