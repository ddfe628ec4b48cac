// Block I/O through io_uring: all pieces of a call are in flight together, and one system call submits them
// and waits. Each call has a ring to itself, from a small pool: so nobody waits for a thread that reaps, and
// the pool's size is how many calls the disk is asked to work on at once.
#pragma once

#include <liburing.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "cache/disk/plain_io.h"

namespace winnow {

class UringIo final : public PlainIo {
 public:
  UringIo();  // throws std::system_error if the kernel gives no ring
  ~UringIo() override;

  Result<void> read(std::span<const IoPiece> pieces) override;
  Result<void> write(std::span<const IoPiece> pieces) override;

 private:
  struct Ring;
  static constexpr std::size_t kMaxRings = 16;

  std::unique_ptr<Ring> borrow();  // null if the kernel gives no ring any more
  void bring_back(std::unique_ptr<Ring> ring);
  Result<void> run(std::span<const IoPiece> pieces, bool writes);

  std::mutex mutex_;  // guards idle_ and rings_; never held while the disk works
  std::condition_variable came_back_;
  std::vector<std::unique_ptr<Ring>> idle_;
  std::size_t rings_ = 0;
};

}  // namespace winnow
