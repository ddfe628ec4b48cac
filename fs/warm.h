// Fills the tiers with a part of the data set, or checks what they hold against the source. One at a time; what is
// there already is passed over, so one that was broken off goes on where it was. Large files come by parts, and no
// faster than they can be kept. run() blocks; progress() and cancel() may come from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/prefetch_limit.h"
#include "cache/source.h"
#include "fs/kernel_cache.h"
#include "fs/read_path.h"
#include "fs/snapshots.h"
#include "fs/tiers.h"

namespace winnow {

enum class WarmOrder { kPath, kImportance, kList };
WarmOrder parse_warm_order(const std::string& text);  // throws StartupError

struct WarmOptions {
  WarmOrder order = WarmOrder::kPath;
  std::vector<SampleId> list;  // for kList
  double fraction = 1.0;       // of the files, in that order
  bool check = false;          // compare what is held with the source instead of filling
  unsigned at_once = 32;
  std::chrono::milliseconds source_timeout{60'000};  // of one read; zero: it waits for ever
};

struct WarmProgress {
  bool running = false;
  std::uint64_t files = 0;  // in all
  std::uint64_t bytes = 0;
  std::uint64_t done_files = 0;  // dealt with so far, well or not
  std::uint64_t done_bytes = 0;
  std::uint64_t found_bytes = 0;    // of the done ones: were there before
  std::uint64_t fetched_files = 0;  // of the done ones
  std::uint64_t failed_files = 0;   // the source did not give them
  std::uint64_t held_files = 0;     // filling: really there at the end; checking: something was there to compare
  std::uint64_t held_bytes = 0;
  // Checking; each file looked at is one of these, or failed.
  std::uint64_t not_held_files = 0;
  std::uint64_t compared_files = 0;    // all that was held, with the source; wrong ones among them
  std::uint64_t unreadable_files = 0;  // of what was held, something could not be read: torn, or the disk fails
  std::uint64_t changed_files = 0;     // the source has another version by now, or none: dropped
  std::uint64_t wrong_files = 0;       // held other bytes than the source: dropped
  std::uint64_t unreadable_slots = 0;
  bool full = false;                // the tiers had no room for more
  bool source_fails = false;        // given up: file after file could not be read there
  bool cancelled = false;           // broken off, by whoever asked for it or because the mount ended
  bool on_disk = false;             // what was fetched outlives the mount
  bool not_writing = false;         // given up: the disk tier is not written to
  std::string disk_trouble;         // why the disk tier is not written to; empty if it is
};

class Warm {
 public:
  struct Parts {
    const Snapshots& snapshots;
    Tiers& tiers;
    ReadPath& reads;
    KernelCache& kernel;
    Source& source;
    std::string mountpoint;  // where held pages can be read
  };
  explicit Warm(Parts parts) : parts_(std::move(parts)) {}

  // Throws StartupError if one is running, or the mount keeps nothing.
  WarmProgress run(const WarmOptions& options);
  WarmProgress progress() const;
  void cancel() { cancelled_ = true; }

 private:
  class Flying;
  struct Underway;
  enum class Finding { kNotHeld, kAgrees, kDiffers, kTorn, kChanged, kFailed };
  struct Comparison {
    Finding finding = Finding::kNotHeld;
    std::uint64_t held_bytes = 0;
    std::uint64_t compared_bytes = 0;
    std::uint64_t unreadable_slots = 0;
    bool all_read = true;
  };

  std::vector<FileRef> choose(const WarmOptions& options, const Tree& tree) const;
  bool is_there(const FileRef& file) const;
  void done(const FileRef& file);

  void fill(const std::vector<FileRef>& files, const WarmOptions& options);
  void bring(const FileRef& file, Flying& flying);
  bool bring_part(const std::shared_ptr<Underway>& file, Range part, Flying& flying);
  bool wait_for_queue(std::uint64_t bytes, const Flying& flying) const;
  bool has_room(std::uint64_t bytes) const;
  bool may_write() const;
  bool find_room(std::uint64_t bytes);
  void part_ended(Underway& file);
  void note_source(const FileRef& file, bool answered);
  bool source_fails(std::chrono::milliseconds timeout);
  void settle() const;
  void count_held(const std::vector<FileRef>& files);

  // warm_check.cpp
  void check(const std::vector<FileRef>& files, const WarmOptions& options);
  void act_on(const Comparison& found, const FileRef& file);
  void count(const Comparison& found);
  Comparison compare(const FileRef& file, std::chrono::milliseconds timeout) const;
  Finding compare_held(const FileRef& file, bool in_memory, std::chrono::milliseconds timeout,
                       Comparison& found) const;
  bool agrees(const FileRef& file, Range range, const Bytes& truth, int pages, Comparison& found) const;
  std::uint64_t held_of(const FileRef& file, Range range) const;  // bytes, on the disk
  bool pause(std::chrono::milliseconds length) const;  // false if cancelled

  const Parts parts_;
  std::uint64_t displaced_before_ = 0;  // by the disk, when the run began
  std::atomic<bool> running_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> full_{false};
  std::atomic<bool> not_writing_{false};
  std::atomic<bool> source_fails_{false};
  std::mutex source_mutex_;  // guards the three below
  unsigned failed_in_a_row_ = 0;
  std::chrono::steady_clock::time_point answered_at_;
  FileRef failed_last_;
  std::atomic<std::uint64_t> files_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> done_files_{0};
  std::atomic<std::uint64_t> done_bytes_{0};
  std::atomic<std::uint64_t> found_bytes_{0};
  std::atomic<std::uint64_t> fetched_files_{0};
  std::atomic<std::uint64_t> failed_files_{0};
  std::atomic<std::uint64_t> held_files_{0};
  std::atomic<std::uint64_t> held_bytes_{0};
  std::atomic<std::uint64_t> not_held_files_{0};
  std::atomic<std::uint64_t> compared_files_{0};
  std::atomic<std::uint64_t> unreadable_files_{0};
  std::atomic<std::uint64_t> changed_files_{0};
  std::atomic<std::uint64_t> wrong_files_{0};
  std::atomic<std::uint64_t> unreadable_slots_{0};
};

// How many are under way, and how many bytes of them; and a place to wait.
class Warm::Flying {
 public:
  explicit Flying(unsigned at_once, std::uint64_t max_bytes = UINT64_MAX)
      : limit_(at_once), at_once_(at_once), max_bytes_(max_bytes) {}

  void begin(std::uint64_t bytes);
  void end(std::uint64_t bytes, Brought brought, std::chrono::steady_clock::duration took);
  void wait_for_all();
  std::uint64_t bytes() const;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  PrefetchLimit limit_;
  const unsigned at_once_;
  const std::uint64_t max_bytes_;
  unsigned count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace winnow
