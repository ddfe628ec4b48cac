#include "cache/disk/plain_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

namespace winnow {
namespace {

// Calls `transfer(done)` until all of `size` is through.
template <typename Transfer>
Result<void> all_of(std::size_t size, Transfer transfer) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = transfer(done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return last_error();
    if (count == 0) return errno_error(EIO);  // the file ends here
    done += static_cast<std::size_t>(count);
  }
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

Result<void> write_all(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  return all_of(bytes.size(), [&](std::size_t done) {
    return ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
  });
}

}  // namespace

Result<void> PlainIo::read(std::span<const IoPiece> pieces) {
  for (const IoPiece& piece : pieces) {
    const auto read = all_of(piece.bytes.size(), [&](std::size_t done) {
      return ::pread(piece.fd, piece.bytes.data() + done, piece.bytes.size() - done,
                     static_cast<off_t>(piece.offset + done));
    });
    if (!read) return read;
  }
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

Result<void> PlainIo::write(std::span<const IoPiece> pieces) {
  for (const IoPiece& piece : pieces) {
    BOOST_OUTCOME_TRY(write_all(piece.fd, piece.offset, piece.bytes));
  }
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

Result<void> PlainIo::append(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  return write_all(fd, offset, bytes);
}

Result<void> PlainIo::allocate(int fd, std::uint64_t from, std::uint64_t bytes) {
  if (fallocate(fd, 0, static_cast<off_t>(from), static_cast<off_t>(bytes)) == 0) {
    return BOOST_OUTCOME_V2_NAMESPACE::success();
  }
  // Some network filesystems cannot reserve room; there a full disk shows when it is written to.
  if (errno != EOPNOTSUPP) return last_error();
  if (ftruncate(fd, static_cast<off_t>(from + bytes)) != 0) return last_error();
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

std::unique_ptr<BlockIo> plain_block_io() { return std::make_unique<PlainIo>(); }

std::shared_ptr<std::byte[]> aligned_bytes(std::size_t size) {
  constexpr std::align_val_t kAlignment{4096};
  auto* memory = static_cast<std::byte*>(::operator new[](size, kAlignment));
  return {memory, [](std::byte* all) { ::operator delete[](all, std::align_val_t{4096}); }};
}

}  // namespace winnow
