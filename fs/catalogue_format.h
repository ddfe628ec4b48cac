// The catalogue on disk, as it is mapped. Little-endian, fixed-size records, sections one after another:
//
//   header | rows (ascending id; row 0 is the root) | entries (each folder's, ascending name hash) | owners |
//   text
//
// A row is a file, folder or symlink; an entry is a name in a folder. A hard-linked file has one row and
// several entries. Text holds NUL-terminated names, symlink targets and the source's identity. 96 bytes a
// file, and its name. Changing anything here means a new kFormatVersion.
#pragma once

#include <cstdint>

namespace winnow::catalogue_format {

inline constexpr std::uint64_t kMagic = 0x0001776f6e6e6957;  // "Winnow" 1 0
inline constexpr std::uint32_t kFormatVersion = 1;

struct Row {
  std::uint64_t id;
  std::uint64_t size;
  std::uint64_t tag;  // Version::tag
  std::int64_t mtime_seconds;
  std::int64_t ctime_seconds;
  std::int64_t birth_seconds;
  std::uint32_t mtime_nanoseconds;
  std::uint32_t ctime_nanoseconds;
  std::uint32_t birth_nanoseconds;
  std::uint32_t device;
  std::uint32_t owner;   // index of its mode, uid and gid
  std::uint32_t links;   // as stat tells it
  std::uint32_t folder;  // row of the folder its first name is in; the root's is itself
  std::uint32_t name;    // offset of that name in text
  std::uint32_t first;   // folder: its first entry; symlink: offset of the target in text
  std::uint32_t count;   // folder: how many entries
};
static_assert(sizeof(Row) == 88);

struct Entry {
  std::uint32_t row;
  std::uint32_t name;  // offset in text
};
static_assert(sizeof(Entry) == 8);

struct Owner {
  std::uint32_t mode;
  std::uint32_t uid;
  std::uint32_t gid;
};
static_assert(sizeof(Owner) == 12);

struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t follows_symlinks;
  std::uint64_t rows;
  std::uint64_t entries;
  std::uint64_t owners;
  std::uint64_t text_bytes;
  std::uint64_t next_id;   // ids from here on were never given
  std::uint64_t salt;      // of the name hash
  std::uint64_t snapshot;  // names this snapshot, for the journal
  std::int64_t taken_at;   // seconds since the epoch
  std::uint64_t files;
  std::uint64_t folders;
  std::uint64_t symlinks;
  std::uint64_t total_bytes;
  std::uint64_t left_out_special;
  std::uint64_t left_out_unreadable;
  std::uint64_t left_out_reserved;
  std::uint64_t left_out_links;
  std::uint64_t source;           // offset of the source's identity in text
  std::uint64_t body_checksum;    // XXH3 of all that follows the header
  std::uint64_t header_checksum;  // XXH3 of the header up to here
};
static_assert(sizeof(Header) == 168);

}  // namespace winnow::catalogue_format
