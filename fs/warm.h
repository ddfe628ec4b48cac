// Fills the tiers with a part of the data set, or checks what they hold against the source. One at a time; what is
// there already is passed over, so one that was broken off goes on where it was. run() blocks; progress() and cancel()
// may come from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/source.h"
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
};

struct WarmProgress {
  bool running = false;
  std::uint64_t files = 0;  // in all
  std::uint64_t bytes = 0;
  std::uint64_t done_files = 0;
  std::uint64_t done_bytes = 0;
  std::uint64_t fetched_files = 0;  // of the done ones
  std::uint64_t failed_files = 0;
  std::uint64_t wrong_files = 0;  // held other bytes than the source: dropped
  bool full = false;              // the tiers had no room for more
};

class Warm {
 public:
  // `mountpoint` is where held pages can be read.
  Warm(const Snapshots& snapshots, Tiers& tiers, Source& source, std::string mountpoint);

  WarmProgress run(const WarmOptions& options);  // throws StartupError if one is running
  WarmProgress progress() const;
  void cancel() { cancelled_ = true; }

 private:
  std::vector<FileRef> choose(const WarmOptions& options, const Tree& tree) const;
  void fill(const std::vector<FileRef>& files, unsigned at_once);
  void check(const std::vector<FileRef>& files);
  bool agrees(const FileRef& file, std::string& held) const;
  bool has_room(std::uint64_t bytes) const;
  void done(const FileRef& file);

  const Snapshots& snapshots_;
  Tiers& tiers_;
  Source& source_;
  const std::string mountpoint_;
  std::atomic<bool> running_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> full_{false};
  std::atomic<std::uint64_t> files_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> done_files_{0};
  std::atomic<std::uint64_t> done_bytes_{0};
  std::atomic<std::uint64_t> fetched_files_{0};
  std::atomic<std::uint64_t> failed_files_{0};
  std::atomic<std::uint64_t> wrong_files_{0};
};

}  // namespace winnow
