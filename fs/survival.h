// The worker's side of surviving: the shared memory the holder keeps, the life line to it, and starting a new
// holder should it die. See fs/holder for the other side.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cache/file_descriptor.h"
#include "fs/mount_options.h"
#include "fs/survival_memory.h"

namespace winnow {

// Behind SurvivalMemory, in the same memory: PageCounts.
inline constexpr std::uint64_t kLedgerOffset = 1 << 20;

// A new memory for a new mount. Throws StartupError.
FileDescriptor make_survival_memory();

// A new mount takes the place of one that was cut off: requests are numbered anew, no page is in the cache.
void forget_connection(SurvivalMemory& memory, int fd);

class MappedSurvival {
 public:
  // Throws StartupError if it is not what this version understands.
  explicit MappedSurvival(int fd);
  ~MappedSurvival();
  SurvivalMemory& get() { return *memory_; }

 private:
  SurvivalMemory* memory_ = nullptr;
};

// Where the holder's program is: beside this one.
std::string holder_program();

// The words that start a holder for a mount.
std::vector<std::string> holder_words(const MountOptions& options, int device, int memory, int lock);

// The life line: its end tells the holder of our death, and the holder's end tells us of its. Once started, a
// thread with a descriptor table of its own is the only one to hold it: others may hang in the kernel after
// their process was killed, waiting for a page or for the source, and would keep it open. That thread waits
// for nothing but the line, so it dies at once. say() and serves() may come from any thread.
class LifeLine {
 public:
  // Called on the line's thread when the holder is gone: a line to a new one, or none to be asked again.
  using Renew = std::function<FileDescriptor()>;

  LifeLine(FileDescriptor socket, SurvivalMemory& memory);
  ~LifeLine();

  void say(char byte, int fd = -1);  // a descriptor only before start()
  char wait_for_word();              // before start(): blocks; 0 if the holder is gone

  // `kept` are the descriptors that `renew` needs.
  void start(const std::vector<int>& kept, Renew renew);
  // Signs of life for the watchdog: while we start, for a minute at most; from now on, while `is_well`, which is asked
  // on the line's thread and must wait for nothing.
  void serves(std::function<bool()> is_well);

 private:
  void run(FileDescriptor line, const Renew& renew);
  std::string take_words();

  SurvivalMemory& memory_;
  FileDescriptor socket_;  // until start()
  FileDescriptor wake_;    // an eventfd, in both tables
  bool is_well();
  const std::chrono::steady_clock::time_point made_at_ = std::chrono::steady_clock::now();
  std::mutex mutex_;  // guards the four below
  std::function<bool()> is_well_;  // empty until we serve
  std::condition_variable changed_;
  std::string words_;     // to be said
  bool started_ = false;  // the thread has its own table
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace winnow
