// Holds the tree the mount shows now, and brings it up to date: whole, by refresh(), or for one file that a
// fetch found changed, by examine(). Both look at the source and may block; they are serialised, so ids stay
// unique. tree() never waits. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cache/flight_table.h"
#include "cache/source.h"
#include "fs/snapshot_diff.h"
#include "fs/state_dir.h"
#include "fs/tree.h"

namespace winnow {

class Snapshots {
 public:
  Snapshots(Source& source, const StateDir& state, bool follow_symlinks, std::shared_ptr<Tree> tree);

  std::shared_ptr<Tree> tree() const {
    const std::lock_guard lock(tree_mutex_);
    return tree_;
  }

  // Takes a new snapshot; one at a time. Gives what the kernel must be told. Throws StartupError; the old
  // tree then stays.
  KernelChanges refresh(ScanProgress& progress);
  void kernel_was_told() const;
  // What a worker that died in between did not tell it; nullopt if there is nothing.
  std::optional<KernelChanges> untold() const;

  struct Verdict {
    enum class Kind {
      kStale,  // the id is gone for good; `names` now lead to the new file, or nowhere
      kRetry,  // the same id, with `version`: ask again
      kError,  // the source does not answer: `error`
    };
    Kind kind = Kind::kStale;
    std::vector<Name> names;
    bool noticed_first = false;  // nobody had found it stale before
    bool adopted = false;        // with kRetry: the attributes the kernel has are old
    Version version;
    std::error_code error;
  };
  // A fetch of `file` met another version or no file. `served`: the kernel was given bytes of it before.
  Verdict examine(const FileRef& file, bool served);

 private:
  Result<std::optional<FileStat>> current_facts(const std::vector<Name>& names);

  Source& source_;
  const StateDir& state_;
  const bool follow_symlinks_;
  mutable std::mutex tree_mutex_;  // guards the pointer, for as long as copying it takes; a leaf lock
  std::shared_ptr<Tree> tree_;
  std::mutex refresh_mutex_;  // one refresh at a time
  std::mutex change_mutex_;  // held while the tree is amended or replaced; refresh_mutex_ may be held already
};

// Whether an error of the source says that the file is no longer what it was.
bool means_changed(const std::error_code& error);

// Scans and writes a catalogue into `state`. `previous` may be null. Throws StartupError.
void take_snapshot(Source& source, const StateDir& state, bool follow_symlinks, const Tree* previous,
                   ScanProgress& progress);

}  // namespace winnow
