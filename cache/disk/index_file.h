// The disk tier's memory of what lies where: an append-only file of records, replayed at start. Nothing is
// forced to disk but a compacted index: a power cut may lose the last records (their samples are then misses)
// or keep records whose bytes were lost (the slot's checksum tells). Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "cache/disk/block_io.h"
#include "cache/disk/disk_format.h"
#include "cache/file_descriptor.h"

namespace winnow {

class IndexFile {
 public:
  struct Replayed {
    std::uint64_t bad_records = 0;  // torn or flipped: skipped
    bool started_over = false;      // there was an index, but cut off or flipped at its head
  };

  struct Geometry {
    std::uint32_t unit_bytes = 512;
    std::uint64_t slab_bytes = disk_format::kSlabBytes;
  };

  // Opens folder/index, or makes it with this geometry if there is none. Throws StartupError if it is another
  // program's, another format's or another source's.
  IndexFile(BlockIo& io, std::string folder, const std::string& source_identity, Geometry geometry);

  // Every good record, in order. Once, before the first append.
  Replayed replay(const std::function<void(const disk_format::IndexRecord&)>& visit);

  Result<void> append(std::span<disk_format::IndexRecord> records);  // fills in their checksums
  // Replaces all that was said by these puts.
  Result<void> compact(std::span<disk_format::IndexRecord> live);

  Geometry geometry() const { return {header_.unit_bytes, header_.slab_bytes}; }
  std::uint64_t records() const { return records_; }
  std::uint64_t bytes() const {
    return sizeof(disk_format::IndexHeader) + records_ * sizeof(disk_format::IndexRecord);
  }
  static bool good(const disk_format::IndexRecord& record);
  static void seal(disk_format::IndexRecord& record);

 private:
  bool read_header(const std::string& source_identity);  // false if it must be made anew
  void start_over();

  BlockIo& io_;
  const std::string folder_;
  FileDescriptor fd_;
  disk_format::IndexHeader header_{};
  std::uint64_t records_ = 0;  // in the file, good or bad
  bool started_over_ = false;
};

}  // namespace winnow
