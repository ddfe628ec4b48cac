// The FUSE device descriptor, and all we do with it beside libfuse 3.14: counting requests, answering the
// kinds libfuse does not know or that must cost least (STATX, IOCTL), adding flags to the INIT reply, and,
// for a worker that takes over, replaying INIT and having the kernel send again what its predecessor had
// taken. libfuse reads and writes through this. Thread-safe.
#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "cache/file_descriptor.h"
#include "fs/filesystem.h"
#include "fs/request_counts.h"
#include "fs/request_notes.h"
#include "fs/survival_memory.h"

namespace winnow {

class FuseDevice {
 public:
  using Request = std::vector<std::byte>;

  // `memory` outlives this.
  FuseDevice(FileDescriptor fd, Filesystem& filesystem, bool use_page_cache, SurvivalMemory& memory);

  int fd() const { return fd_.get(); }
  const RequestCounts& requests() const { return requests_; }

  static constexpr unsigned kMaxThreads = 16;
  void enter(unsigned thread);  // said once by each serving thread
  // The next request that is libfuse's to answer; -1 with errno as read(2) gives it.
  ssize_t receive(void* buffer, std::size_t size);
  // The calling thread is done with what it took, answered or not.
  void let_go();
  // The calling thread will wait, for something that takes its time: true if it is a serving one.
  bool let_go_to_wait();
  // Whether a serving thread is at one request for longer than it may take. Waits for nobody.
  bool is_stuck() const;
  // A reply of libfuse's.
  ssize_t send(iovec* parts, int count);

  // The INIT a predecessor answered, to be processed again; its reply is swallowed. Empty if there was none.
  Request take_saved_init();
  // Has the kernel send again what was taken and not answered. False if it cannot (before 6.9).
  bool resend();
  // Where requests go that had to wait until a suspect before them was answered.
  void on_released(std::function<void(Request)> process) { process_released_ = std::move(process); }
  void take_in_hand(const Request& released);
  // Said now and then: a suspect that waits for the source keeps the others waiting no longer.
  void pass_long_turn();

 private:
  bool answer(const void* request, std::size_t size);  // true if it was ours to answer
  bool hold_back(const void* request, std::size_t size);
  bool note_and_answer(const void* request);  // true if it was ours to answer
  void begin(std::uint64_t unique);
  void pass_turn(std::uint64_t from);
  void answer_statx(const void* request);
  void note_init(const void* request, std::size_t size);
  void repeat_init_reply(std::uint64_t unique);
  void save_init_reply(const iovec* parts, int count);
  void add_init_flags(const iovec& reply);
  void reply(std::uint64_t unique, int error, const void* body, std::size_t size);
  void finished(std::uint64_t unique);

  FileDescriptor fd_;
  Filesystem& filesystem_;
  const bool use_page_cache_;
  SurvivalMemory& memory_;
  RequestNotes notes_;
  RequestCounts requests_;
  std::function<void(Request)> process_released_;
  std::atomic<std::uint64_t> init_unique_{0};
  std::atomic<bool> replaying_{false};
  std::atomic<std::uint32_t> offered_flags2_{0};
  std::array<std::atomic<std::int64_t>, kMaxThreads> taken_at_{};  // by serving thread; 0: it waits for a request

  std::mutex suspects_mutex_;             // guards changes of the three below
  std::atomic<std::uint64_t> active_{0};  // the suspect being served
  std::atomic<std::int64_t> active_since_ms_{0};
  std::deque<Request> held_;              // suspects waiting for it
};

// Attributes live this long in the kernel; what changes is told by notifications.
inline constexpr double kForeverSeconds = 86400;
inline constexpr std::uint32_t kBlockBytes =
    1 << 20;  // st_blksize: Python's open() then reads a file in one go

}  // namespace winnow
