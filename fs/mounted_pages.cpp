#include "fs/mounted_pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cache/beneath.h"

namespace winnow {

namespace {

constexpr long kCachestat = 451;  // newer than Debian 12's headers

struct CachestatRange {
  std::uint64_t offset;
  std::uint64_t length;  // 0: to the end
};

struct Cachestat {
  std::uint64_t cached;
  std::uint64_t dirty;
  std::uint64_t writeback;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

std::optional<std::uint64_t> cached_bytes(int fd) {
  CachestatRange all{0, 0};
  Cachestat found{};
  if (syscall(kCachestat, fd, &all, &found, 0) != 0) return std::nullopt;
  return found.cached * 4096;
}

// The device of an open file, from what the kernel knows already: asking us could wait for ourselves.
std::uint64_t device_of(int fd) {
  struct statx found {};
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &found) != 0) return 0;
  return (std::uint64_t{found.stx_dev_major} << 32) | found.stx_dev_minor;
}

std::uint64_t device_at(const std::string& path) {
  const FileDescriptor found(open(path.c_str(), O_PATH | O_CLOEXEC));
  return found ? device_of(found.get()) : 0;
}

}  // namespace

void MountedPages::attach(const std::string& mountpoint) {
  mountpoint_ = mountpoint;
  device_ = device_at(mountpoint);
}

void MountedPages::detach() { device_ = 0; }

bool MountedPages::has_left() const {
  const std::uint64_t ours = device_;
  return ours != 0 && device_at(mountpoint_) != ours;
}

FileDescriptor MountedPages::open_ours(const std::string& path) const {
  const std::uint64_t ours = device_;
  if (ours == 0) return FileDescriptor();
  FileDescriptor fd(
      open(join_path(mountpoint_, path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd && device_of(fd.get()) != ours) fd.reset();
  return fd;
}

std::optional<std::uint64_t> MountedPages::resident(const std::string& path) const {
  const FileDescriptor fd = open_ours(path);
  return fd ? cached_bytes(fd.get()) : std::nullopt;
}

std::optional<std::uint64_t> MountedPages::drop(const std::string& path) const {
  if (const FileDescriptor fd = open_ours(path)) return drop(fd);
  return has_left() ? std::optional<std::uint64_t>(0) : std::nullopt;
}

std::optional<std::uint64_t> MountedPages::drop(const FileDescriptor& ours) {
  if (posix_fadvise(ours.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) return std::nullopt;
  return cached_bytes(ours.get()).value_or(0);
}

}  // namespace winnow
