// What a source knows of one file, and which part of it identifies its content.
#pragma once

#include <compare>
#include <cstdint>

namespace winnow {

struct Timestamp {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  auto operator<=>(const Timestamp&) const = default;
};

// Two reads with equal versions saw the same bytes. `tag` is the inode number for a directory source.
// ctime is part of it because a writer can restore mtime but not ctime.
struct Version {
  std::uint64_t tag = 0;
  std::uint32_t device = 0;
  std::uint64_t size = 0;
  Timestamp mtime;
  Timestamp ctime;
  bool operator==(const Version&) const = default;
};

struct FileStat {
  std::uint32_t mode = 0;  // type and permissions, as in st_mode
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t links = 1;
  Version version;
  Timestamp birth;  // zero where the source does not tell
};

}  // namespace winnow
