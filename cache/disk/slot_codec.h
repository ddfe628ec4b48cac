// What a slot looks like: the key of a file, the size class of a slot, its header and checksum.
// Pure functions. open_slot() is given whatever the disk gave and believes none of it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cache/disk/disk_format.h"
#include "cache/file_stat.h"

namespace winnow {

// Names one version of one file: two that differ in path or version have different keys.
struct DiskKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  auto operator<=>(const DiskKey&) const = default;
};

DiskKey disk_key(std::string_view path, const Version& version);

// Units that a slot for so many bytes takes: header and bytes, rounded up to a class. Classes are 1/32 of
// the size apart, at least a unit, so that a freed slot fits the next of about its size.
std::uint32_t slot_units(std::uint32_t length, std::uint32_t unit_bytes);

// Writes header and padding around `body`, which the caller has put at slot + sizeof(SlotHeader).
void seal_slot(std::span<std::byte> slot, const DiskKey& key, std::uint32_t chunk, std::uint32_t length,
               const Version& version);

// The body, if the slot is whole and is what was asked for.
std::optional<std::span<const std::byte>> open_slot(std::span<const std::byte> slot, const DiskKey& key,
                                                    std::uint32_t chunk, std::uint32_t length,
                                                    const Version& version);

}  // namespace winnow
