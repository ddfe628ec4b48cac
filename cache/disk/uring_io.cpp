#include "cache/disk/uring_io.h"

#include <algorithm>
#include <system_error>

namespace winnow {
namespace {

constexpr unsigned kDepth = 32;  // pieces in flight at once

}  // namespace

struct UringIo::Ring {
  io_uring ring{};
  bool broken = false;  // the kernel refused entries that are still in it
  Ring() {
    if (const int error = io_uring_queue_init(kDepth, &ring, 0); error < 0) {
      throw std::system_error(-error, std::generic_category(), "io_uring");
    }
  }
  ~Ring() { io_uring_queue_exit(&ring); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Up to kDepth pieces. Comes back only when the kernel has let go of every buffer.
  Result<void> run(std::span<const IoPiece> pieces, bool writes) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const IoPiece& piece = pieces[i];
      io_uring_sqe* entry = io_uring_get_sqe(&ring);
      const auto size = static_cast<unsigned>(piece.bytes.size());
      if (writes) {
        io_uring_prep_write(entry, piece.fd, piece.bytes.data(), size, piece.offset);
      } else {
        io_uring_prep_read(entry, piece.fd, piece.bytes.data(), size, piece.offset);
      }
      io_uring_sqe_set_data64(entry, i);
    }
    std::size_t submitted = 0;
    int error = 0;
    while (submitted < pieces.size()) {
      const int count = io_uring_submit_and_wait(&ring, static_cast<unsigned>(pieces.size() - submitted));
      if (count == -EINTR || count == -EAGAIN) continue;
      if (count < 0) {
        error = -count;
        broken = true;
        break;
      }
      submitted += static_cast<std::size_t>(count);
    }
    for (std::size_t done = 0; done < submitted;) {
      io_uring_cqe* result = nullptr;
      if (io_uring_wait_cqe(&ring, &result) < 0) continue;
      const std::size_t size = pieces[io_uring_cqe_get_data64(result)].bytes.size();
      if (result->res < 0) {
        error = -result->res;
      } else if (static_cast<std::size_t>(result->res) != size && error == 0) {
        error = writes ? ENOSPC : EIO;  // short: a full disk, or a file that ends here
      }
      io_uring_cqe_seen(&ring, result);
      ++done;
    }
    if (error != 0) return errno_error(error);
    return BOOST_OUTCOME_V2_NAMESPACE::success();
  }
};

UringIo::UringIo() {
  idle_.reserve(kMaxRings);
  idle_.push_back(std::make_unique<Ring>());
  rings_ = 1;
}

UringIo::~UringIo() = default;

std::unique_ptr<UringIo::Ring> UringIo::borrow() {
  std::unique_lock lock(mutex_);
  came_back_.wait(lock, [this] { return !idle_.empty() || rings_ < kMaxRings; });
  if (idle_.empty()) {
    ++rings_;
    lock.unlock();
    try {
      return std::make_unique<Ring>();
    } catch (const std::system_error&) {  // no further ring: wait for one of those there are
      lock.lock();
      --rings_;
      if (rings_ == 0) return nullptr;
      came_back_.wait(lock, [this] { return !idle_.empty(); });
    }
  }
  auto ring = std::move(idle_.back());
  idle_.pop_back();
  return ring;
}

void UringIo::bring_back(std::unique_ptr<Ring> ring) {
  {
    const std::lock_guard lock(mutex_);
    if (ring->broken) {
      --rings_;
    } else {
      idle_.push_back(std::move(ring));
    }
  }
  came_back_.notify_one();
}

Result<void> UringIo::run(std::span<const IoPiece> pieces, bool writes) {
  auto ring = borrow();
  if (!ring) return writes ? PlainIo::write(pieces) : PlainIo::read(pieces);
  Result<void> result = BOOST_OUTCOME_V2_NAMESPACE::success();
  while (!pieces.empty() && result) {
    const auto some = pieces.first(std::min<std::size_t>(pieces.size(), kDepth));
    result = ring->run(some, writes);
    pieces = pieces.subspan(some.size());
  }
  bring_back(std::move(ring));
  return result;
}

Result<void> UringIo::read(std::span<const IoPiece> pieces) { return run(pieces, false); }
Result<void> UringIo::write(std::span<const IoPiece> pieces) { return run(pieces, true); }

OpenedIo open_block_io() {
  try {
    return {std::make_unique<UringIo>(), ""};
  } catch (const std::system_error& error) {
    return {plain_block_io(), "io_uring is not permitted here (" + errno_text(error.code().value()) + ")"};
  }
}

}  // namespace winnow
