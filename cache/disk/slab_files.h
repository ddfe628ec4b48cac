// The files that hold the tier's bytes: space is a row of units, cut into slabs. Grows and shrinks them and
// turns extents into places in files. grow() and shrink() are for one thread at a time; place() may be called
// by any thread for extents it has seen under the owner's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/disk/block_io.h"
#include "cache/disk/extent_pool.h"
#include "cache/disk/index_file.h"
#include "cache/file_descriptor.h"

namespace winnow {

// What O_DIRECT wants in this folder: multiples of so many bytes, or why it cannot be had.
struct DirectIo {
  std::uint32_t unit_bytes = 512;
  std::string why_not;  // empty: it can
};
DirectIo probe_direct_io(const std::string& folder);

class SlabFiles {
 public:
  // Opens what is there, up to `max_bytes` of it. Throws StartupError.
  SlabFiles(BlockIo& io, std::string folder, IndexFile::Geometry geometry, std::uint64_t max_bytes,
            bool direct);

  Result<Region> grow(
      std::uint64_t max_bytes);          // the new space, at most so much; none if there is no slab left
  void shrink(std::uint64_t max_bytes);  // cuts from the end until no more is left

  std::uint32_t slab_units() const { return slab_units_; }
  std::vector<Region> regions() const;
  bool holds(const Extent& extent) const;
  std::uint64_t bytes() const;

  // Appends a piece for each extent, over consecutive memory.
  void place(const Extents& extents, std::byte* memory, std::vector<IoPiece>& pieces) const;

 private:
  struct Slab {
    FileDescriptor fd;
    std::uint32_t units = 0;
  };
  std::string path(std::size_t number) const;
  void open_slab(std::size_t number);
  void cut(std::size_t number, std::uint32_t units);

  BlockIo& io_;
  const std::string folder_;
  const std::uint32_t unit_bytes_;
  const std::uint32_t slab_units_;
  const bool direct_;
  std::vector<Slab> slabs_;  // never reallocated: readers look at it without a lock
};

}  // namespace winnow
