// Block I/O with one system call after another, for where io_uring is not permitted.
#pragma once

#include "cache/disk/block_io.h"

namespace winnow {

class PlainIo : public BlockIo {
 public:
  Result<void> read(std::span<const IoPiece> pieces) override;
  Result<void> write(std::span<const IoPiece> pieces) override;
  Result<void> append(int fd, std::uint64_t offset, std::span<const std::byte> bytes) override;
  Result<void> allocate(int fd, std::uint64_t from, std::uint64_t bytes) override;
};

}  // namespace winnow
