// How the disk tier touches its files, so that tests can make them fail. Calls block until all is done; a
// transfer that comes short is an error, never a success. Thread-safe. Buffers of read() and write(), their
// places and lengths are multiples of the unit and memory is aligned to 4096 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cache/result.h"

namespace winnow {

struct IoPiece {
  int fd = -1;
  std::uint64_t offset = 0;
  std::span<std::byte> bytes;
};

class BlockIo {
 public:
  virtual ~BlockIo() = default;
  virtual Result<void> read(std::span<const IoPiece> pieces) = 0;
  virtual Result<void> write(std::span<const IoPiece> pieces) = 0;
  virtual Result<void> append(int fd, std::uint64_t offset,
                              std::span<const std::byte> bytes) = 0;                   // buffered
  virtual Result<void> allocate(int fd, std::uint64_t from, std::uint64_t bytes) = 0;  // the file grows
};

struct OpenedIo {
  std::unique_ptr<BlockIo> io;
  std::string why_not_uring;  // empty: it is io_uring
};

// io_uring where it is permitted; else pread and pwrite.
OpenedIo open_block_io();
std::unique_ptr<BlockIo> plain_block_io();

// Memory that O_DIRECT accepts, freed with the last owner.
std::shared_ptr<std::byte[]> aligned_bytes(std::size_t size);

}  // namespace winnow
