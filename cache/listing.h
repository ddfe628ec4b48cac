// All of a source at one moment, as a flat tree: entry 0 is the root, and every entry comes after its folder.
// Names and symlink targets lie back to back in one string, so a million entries are two allocations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cache/file_stat.h"

namespace winnow {

// What a listing does not hold, counted by reason.
struct LeftOut {
  std::uint64_t special = 0;     // FIFOs, sockets, devices
  std::uint64_t unreadable = 0;  // folders shown empty, or files that vanished or refused stat
  std::uint64_t reserved = 0;    // the name .winnow in the root
  std::uint64_t links = 0;       // followed symlinks that dangle, loop or leave the source
  bool operator==(const LeftOut&) const = default;
};

struct ListedEntry {
  std::uint32_t folder = 0;  // index of the folder it is in
  std::uint32_t name_length = 0;
  std::uint64_t name_offset = 0;
  std::uint64_t target_offset = 0;  // symlinks: the target, of version.size bytes
  FileStat stat;
};

struct Listing {
  std::vector<ListedEntry> entries;
  std::string text;
  LeftOut left_out;

  std::string_view name(const ListedEntry& entry) const {
    return std::string_view(text).substr(entry.name_offset, entry.name_length);
  }
  std::string_view target(const ListedEntry& entry) const {
    return std::string_view(text).substr(entry.target_offset, entry.stat.version.size);
  }
};

}  // namespace winnow
