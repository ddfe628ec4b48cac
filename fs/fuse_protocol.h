// The parts of the FUSE protocol that Debian 12's kernel headers and libfuse 3.14 do not know yet.
#pragma once

#include <linux/fuse.h>

#include <cstdint>

namespace winnow::fuse_protocol {

inline constexpr std::uint32_t kStatx = 52;

inline constexpr int kNotifyResend = 7;

// INIT flags, bits 32 to 63.
inline constexpr std::uint32_t kHasResend2 = 1u << (39 - 32);
inline constexpr std::uint32_t kDirectIoAllowMmap2 = 1u << (36 - 32);
inline constexpr std::uint32_t kAllowIdmap2 = 1u << (40 - 32);

struct SxTime {
  std::int64_t seconds;
  std::uint32_t nanoseconds;
  std::int32_t reserved;
};

struct Statx {
  std::uint32_t mask;
  std::uint32_t blksize;
  std::uint64_t attributes;
  std::uint32_t nlink;
  std::uint32_t uid;
  std::uint32_t gid;
  std::uint16_t mode;
  std::uint16_t spare0;
  std::uint64_t ino;
  std::uint64_t size;
  std::uint64_t blocks;
  std::uint64_t attributes_mask;
  SxTime atime;
  SxTime btime;
  SxTime ctime;
  SxTime mtime;
  std::uint32_t rdev_major;
  std::uint32_t rdev_minor;
  std::uint32_t dev_major;
  std::uint32_t dev_minor;
  std::uint64_t spare2[14];
};
static_assert(sizeof(Statx) == 256);

struct StatxOut {
  std::uint64_t attr_valid;
  std::uint32_t attr_valid_nsec;
  std::uint32_t flags;
  std::uint64_t spare[2];
  Statx stat;
};

}  // namespace winnow::fuse_protocol
