// The disk tier on disk. Little-endian, fixed-size records. A folder holds:
//
//   lock        held by the one process that uses the folder
//   index       IndexHeader, then IndexRecords in the order things happened; a later record wins
//   index.new   a compacted index on its way to replace the old one
//   slab-NNNNNN the bytes: at most IndexHeader::slab_bytes each, as long as it needed to be
//
// Space is counted in units (512 or 4096 bytes: what O_DIRECT needs on this filesystem). Unit u of the tier
// lies in slab u / (slab_bytes / unit_bytes). A slot is a SlotHeader and up to kChunkBytes of one file,
// rounded up to a size class and spread over at most kMaxFragments extents, in order; no extent crosses a
// slab's end. Every record and every slot carries its own XXH3, so that what was torn, flipped or cut off is
// known for what it is. Changing anything here means a new kDiskFormat.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace winnow::disk_format {

static_assert(std::endian::native == std::endian::little, "the files are little-endian and used as they are");

inline constexpr std::uint64_t kIndexMagic = 0x31786449776e6957;  // "WinwIdx1"
inline constexpr std::uint32_t kSlotMagic = 0x746f6c53;           // "Slot"
inline constexpr std::uint32_t kDiskFormat = 1;
inline constexpr std::uint64_t kSlabBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20;
inline constexpr std::size_t kMaxFragments = 5;

struct IndexHeader {
  std::uint64_t checksum;  // XXH3 of what follows
  std::uint64_t magic;
  std::uint32_t format;
  std::uint32_t unit_bytes;
  std::uint64_t identity_low;  // XXH3-128 of the source's identity
  std::uint64_t identity_high;
  std::uint64_t slab_bytes;
  std::array<char, 464> identity;  // as much of it as fits, for whoever is told that it is another one
};
static_assert(sizeof(IndexHeader) == 512);

enum class RecordKind : std::uint16_t { kPut = 1, kRemove = 2 };

struct IndexRecord {
  std::uint64_t checksum;  // XXH3 of what follows
  std::uint64_t key_low;   // XXH3-128 of the path and the version
  std::uint64_t key_high;
  std::uint32_t chunk;                             // which kChunkBytes of the file
  std::uint32_t length;                                // bytes of it
  std::array<std::uint32_t, kMaxFragments - 1> first;  // unit each extent begins at
  std::array<std::uint16_t, kMaxFragments - 1> units;  // its length; 0: no such extent
  RecordKind kind;
  std::uint16_t last_units;  // of one more extent; earlier versions have 0 here, and drop a record that has not
  std::uint32_t last_first;
};
static_assert(sizeof(IndexRecord) == 64);

struct SlotHeader {
  std::uint64_t checksum;  // XXH3 of the bytes, seeded with the XXH3 of the rest of this header
  std::uint32_t magic;
  std::uint32_t chunk;
  std::uint64_t key_low;
  std::uint64_t key_high;
  std::uint32_t length;
  std::uint32_t device;  // from here on: Version
  std::uint64_t tag;
  std::uint64_t size;
  std::int64_t mtime_seconds;
  std::int64_t ctime_seconds;
  std::uint32_t mtime_nanoseconds;
  std::uint32_t ctime_nanoseconds;
};
static_assert(sizeof(SlotHeader) == 80);

}  // namespace winnow::disk_format
