#include "fs/fuse_kernel_cache.h"

#include <sys/uio.h>

#include <string>

#include "cache/result.h"
#include "fs/fuse_protocol.h"

namespace winnow {

std::error_code FuseKernelCache::notify(int code, const void* head, std::size_t head_size, const void* body,
                                        std::size_t body_size) {
  fuse_out_header header{};
  header.len = static_cast<std::uint32_t>(sizeof header + head_size + body_size);
  header.error = code;
  const iovec parts[] = {
      {&header, sizeof header}, {const_cast<void*>(head), head_size}, {const_cast<void*>(body), body_size}};
  return writev(device_fd_, parts, body_size > 0 ? 3 : 2) < 0 ? last_error() : std::error_code();
}

std::error_code FuseKernelCache::store(NodeId id, std::uint64_t offset, std::span<const std::byte> bytes) {
  // One store of a gigabyte works, but a reader of its last page would wait for all of it.
  constexpr std::size_t kStep = 1 << 20;
  for (std::size_t at = 0; at < bytes.size(); at += kStep) {
    const auto part = bytes.subspan(at, std::min(kStep, bytes.size() - at));
    fuse_notify_store_out out{};
    out.nodeid = value(id);
    out.offset = offset + at;
    out.size = static_cast<std::uint32_t>(part.size());
    if (const auto error = notify(FUSE_NOTIFY_STORE, &out, sizeof out, part.data(), part.size()))
      return error;
  }
  return {};
}

void FuseKernelCache::invalidate_name(NodeId folder, std::string_view name) {
  fuse_notify_inval_entry_out out{};
  out.parent = value(folder);
  out.namelen = static_cast<std::uint32_t>(name.size());
  const std::string terminated(name);
  notify(FUSE_NOTIFY_INVAL_ENTRY, &out, sizeof out, terminated.c_str(), terminated.size() + 1);
}

void FuseKernelCache::invalidate_node(NodeId id) {
  fuse_notify_inval_inode_out out{};
  out.ino = value(id);
  notify(FUSE_NOTIFY_INVAL_INODE, &out, sizeof out, nullptr, 0);
}

void FuseKernelCache::invalidate_attributes(NodeId id) {
  fuse_notify_inval_inode_out out{};
  out.ino = value(id);
  out.off = -1;
  notify(FUSE_NOTIFY_INVAL_INODE, &out, sizeof out, nullptr, 0);
}

}  // namespace winnow
