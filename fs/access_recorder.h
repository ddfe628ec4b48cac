// Writes the trace of a mount (fs/trace.h) while somebody wants it. Accesses are noted in a bounded queue,
// and a thread of its own names and writes them: noting never waits for a file, and what finds the queue full
// is lost, and counted. Thread-safe. A full disk, or the limit, ends the recording with a warning; the mount
// does not notice. The wish is kept in the state directory, so that the next worker goes on where one died.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cache/file_descriptor.h"
#include "fs/node_id.h"
#include "fs/snapshots.h"

namespace winnow {

struct RecordingFacts {
  bool active = false;
  std::string file;  // of this recording or the last one; empty if there was none
  std::uint64_t written = 0;
  std::uint64_t lost = 0;  // queue full, or the file was gone before it could be named
  std::uint64_t bytes = 0;
  std::string ended;  // why, if nobody stopped it
};

class AccessRecorder {
 public:
  static constexpr std::size_t kQueue = 1 << 17;  // accesses that may wait
  static constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;

  // `wish_path`: where the wish is kept.
  AccessRecorder(const Snapshots& snapshots, std::string wish_path);
  ~AccessRecorder();  // writes what waits; the wish stays

  // Throws StartupError: the file is there already or cannot be made, or a recording is under way.
  void start(const std::string& file, std::uint64_t limit_bytes);
  // Goes on with what a worker before this one was told to record, if anything.
  void resume();
  // Returns when all that was noted is in the file. Throws StartupError if nothing is being recorded.
  RecordingFacts stop();

  // Which of the two below counts: opens, if they are observed, else the reads that reach us.
  void set_opens_seen(bool seen) { opens_seen_.store(seen, std::memory_order_relaxed); }
  void note_open(NodeId id, int reader) {
    if (active_.load(std::memory_order_relaxed) && opens_seen_.load(std::memory_order_relaxed))
      note(id, reader);
  }
  void note_read(NodeId id) {
    if (active_.load(std::memory_order_relaxed) && !opens_seen_.load(std::memory_order_relaxed)) note(id, 0);
  }

  RecordingFacts facts() const;

 private:
  struct Noted {
    NodeId id;
    int reader;
    std::int64_t microseconds;
  };

  void note(NodeId id, int reader);
  void begin(FileDescriptor file, const RecordingFacts& facts, std::uint64_t limit_bytes);
  void end_thread();
  void run();
  bool take_up();                               // false: the recording is over
  bool write(const std::vector<Noted>& noted);  // false: the recording is over
  void give_up(const std::string& why);

  const Snapshots& snapshots_;
  const std::string wish_path_;
  std::mutex command_mutex_;  // one start, resume or stop at a time; taken before mutex_
  std::thread thread_;        // guarded by command_mutex_

  std::atomic<bool> active_{false};
  std::atomic<bool> opens_seen_{false};
  mutable std::mutex mutex_;  // guards all below but the file, which is the thread's; not held while writing
  std::condition_variable wake_;
  std::vector<Noted> queue_;
  bool stop_ = false;
  RecordingFacts facts_;
  std::uint64_t limit_bytes_ = 0;
  FileDescriptor file_;
};

}  // namespace winnow
