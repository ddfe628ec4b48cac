// All of a source at one moment, as a flat tree: entry 0 is the root, and every entry comes after its folder.
// Names and symlink targets lie back to back in one string, so a million entries are two allocations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/file_stat.h"

namespace winnow {

// What a listing does not hold, counted by reason. The first four are a folder's, the rest a bucket's keys.
struct LeftOut {
  std::uint64_t special = 0;      // FIFOs, sockets, devices
  std::uint64_t unreadable = 0;   // folders shown empty, or files that vanished or refused stat
  std::uint64_t reserved = 0;     // the name .winnow in the root
  std::uint64_t links = 0;        // followed symlinks that dangle, loop or leave the source
  std::uint64_t empty_names = 0;  // keys with a leading or a double slash
  std::uint64_t dot_names = 0;    // keys with a part "." or ".."
  std::uint64_t long_names = 0;   // keys with a part of more than 255 bytes
  std::uint64_t nul_names = 0;    // keys with a NUL
  std::uint64_t shadowed = 0;     // objects whose name is also a folder's
  bool operator==(const LeftOut&) const = default;
};

// Every reason with the name it has in status, metrics and the list of skipped names.
struct LeftOutReason {
  const char* name;
  std::uint64_t LeftOut::*count;
};
inline constexpr LeftOutReason kSpecial{"special", &LeftOut::special};
inline constexpr LeftOutReason kUnreadable{"unreadable", &LeftOut::unreadable};
inline constexpr LeftOutReason kReserved{"reserved", &LeftOut::reserved};
inline constexpr LeftOutReason kLinks{"links", &LeftOut::links};
inline constexpr LeftOutReason kEmptyNames{"empty_names", &LeftOut::empty_names};
inline constexpr LeftOutReason kDotNames{"dot_names", &LeftOut::dot_names};
inline constexpr LeftOutReason kLongNames{"long_names", &LeftOut::long_names};
inline constexpr LeftOutReason kNulNames{"nul_names", &LeftOut::nul_names};
inline constexpr LeftOutReason kShadowed{"shadowed", &LeftOut::shadowed};
inline constexpr LeftOutReason kLeftOutReasons[] = {kSpecial,  kUnreadable, kReserved, kLinks,   kEmptyNames,
                                                    kDotNames, kLongNames,  kNulNames, kShadowed};

inline std::uint64_t total(const LeftOut& left_out) {
  std::uint64_t sum = 0;
  for (const LeftOutReason& reason : kLeftOutReasons) sum += left_out.*reason.count;
  return sum;
}

inline constexpr std::string_view kReservedName = ".winnow";  // in the root: ours

struct SkippedName {
  const char* reason;  // of kLeftOutReasons
  std::string name;    // path or key, from the source's root
};
inline constexpr std::size_t kMaxSkippedNames = 10'000;  // more are counted, not named

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
  std::vector<SkippedName> skipped;

  void skip(const LeftOutReason& reason, std::string name) {
    ++(left_out.*reason.count);
    if (skipped.size() < kMaxSkippedNames) skipped.push_back({reason.name, std::move(name)});
  }
  void take_skips(Listing other) {
    for (const LeftOutReason& reason : kLeftOutReasons)
      left_out.*reason.count += other.left_out.*reason.count;
    for (SkippedName& name : other.skipped)
      if (skipped.size() < kMaxSkippedNames) skipped.push_back(std::move(name));
  }
  std::string_view name(const ListedEntry& entry) const {
    return std::string_view(text).substr(entry.name_offset, entry.name_length);
  }
  std::string_view target(const ListedEntry& entry) const {
    return std::string_view(text).substr(entry.target_offset, entry.stat.version.size);
  }
};

}  // namespace winnow
