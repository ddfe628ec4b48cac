// The FUSE device descriptor, and all we do with it beside libfuse 3.14: counting requests, answering the
// kinds libfuse does not know or that must cost least (STATX, IOCTL), and adding flags to the INIT reply.
// libfuse reads and writes through this. Thread-safe.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cache/file_descriptor.h"
#include "fs/filesystem.h"
#include "fs/request_counts.h"

namespace winnow {

class FuseDevice {
 public:
  FuseDevice(FileDescriptor fd, Filesystem& filesystem, bool use_page_cache);

  int fd() const { return fd_.get(); }
  int release() { return fd_.release(); }
  const RequestCounts& requests() const { return requests_; }

  // The next request that is libfuse's to answer; -1 with errno as read(2) gives it.
  ssize_t receive(void* buffer, std::size_t size);
  // A reply of libfuse's.
  ssize_t send(iovec* parts, int count);

  std::uint32_t kernel_minor() const { return kernel_minor_; }
  bool allows_idmap() const { return allows_idmap_; }

 private:
  bool answer(const void* request, std::size_t size);  // true if it was ours to answer
  void answer_statx(const void* request);
  void note_init(const void* request, std::size_t size);
  void add_init_flags(const iovec& reply);
  void reply(std::uint64_t unique, int error, const void* body, std::size_t size) const;

  FileDescriptor fd_;
  Filesystem& filesystem_;
  const bool use_page_cache_;
  RequestCounts requests_;
  std::atomic<std::uint64_t> init_unique_{0};
  std::atomic<std::uint32_t> offered_flags2_{0};
  std::atomic<std::uint32_t> kernel_minor_{0};
  std::atomic<bool> allows_idmap_{false};
};

// Attributes live this long in the kernel; what changes is told by notifications.
inline constexpr double kForeverSeconds = 86400;
inline constexpr std::uint32_t kBlockBytes =
    1 << 20;  // st_blksize: Python's open() then reads a file in one go

}  // namespace winnow
