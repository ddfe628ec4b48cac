#include "fs/request_counts.h"

namespace winnow {

namespace {

// By opcode of the FUSE protocol; kinds without a name of their own are counted as "other".
constexpr std::string_view kNames[] = {"other",        "lookup",        "forget",       "getattr",
                                       "setattr",      "readlink",      "symlink",      "",
                                       "mknod",        "mkdir",         "unlink",       "rmdir",
                                       "rename",       "link",          "open",         "read",
                                       "write",        "statfs",        "release",      "",
                                       "fsync",        "setxattr",      "getxattr",     "listxattr",
                                       "removexattr",  "flush",         "init",         "opendir",
                                       "readdir",      "releasedir",    "fsyncdir",     "getlk",
                                       "setlk",        "setlkw",        "access",       "create",
                                       "interrupt",    "bmap",          "destroy",      "ioctl",
                                       "poll",         "notify_reply",  "batch_forget", "fallocate",
                                       "readdirplus",  "rename2",       "lseek",        "copy_file_range",
                                       "setupmapping", "removemapping", "syncfs",       "tmpfile",
                                       "statx"};

std::string_view name_of(std::size_t opcode) {
  return opcode < std::size(kNames) && !kNames[opcode].empty() ? kNames[opcode] : kNames[0];
}

}  // namespace

std::vector<std::pair<std::string_view, std::uint64_t>> RequestCounts::by_kind() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> seen;
  std::uint64_t other = 0;
  for (std::size_t opcode = 0; opcode < kKinds; ++opcode) {
    const std::uint64_t count = counts_[opcode].load(std::memory_order_relaxed);
    if (count == 0) continue;
    if (name_of(opcode) == kNames[0]) {
      other += count;
    } else {
      seen.emplace_back(name_of(opcode), count);
    }
  }
  if (other > 0) seen.emplace_back(kNames[0], other);
  return seen;
}

std::uint64_t RequestCounts::total() const {
  std::uint64_t sum = 0;
  for (const auto& count : counts_) sum += count.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace winnow
