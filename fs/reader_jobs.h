// Who reads the mount: accesses gathered by process group, and which of the groups are jobs, with their epochs. Whether a
// group reads in order is judged by each of its threads alone: several that walk at once are walkers still. Groups
// that have ended, or not read for long, are forgotten. Not thread-safe; the clock comes from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/tree.h"
#include "policy/epoch_watch.h"

namespace winnow {

struct ReaderJob {
  using Clock = std::chrono::steady_clock;

  explicit ReaderJob(std::uint64_t samples) : watch(samples) {}

  // Whether its epoch reads this one, now or later, as far as is known. `folder` is that of the root.
  bool expects(SampleId id, std::string_view folder) const {
    return watch.may_be_part() ? top_folders.contains(folder) : watch.expects(id);
  }

  // A job that reads from many folders of the root will come to the others too: classes, not parts of the data set.
  bool may_expect(SampleId id, std::string_view folder) const {
    return expects(id, folder) || (watch.may_be_part() && top_folders.size() > kManyFolders);
  }

  static constexpr std::size_t kManyFolders = 8;
  EpochWatch watch;
  std::set<std::string, std::less<>> top_folders;  // of the root, read from; told anew while any may come
  struct LastRead {
    int thread = 0;
    std::string path;
  };
  std::vector<LastRead> last_reads;  // by thread, until it is known what they are
  std::size_t next_place = 0;        // of those, the next to be given to another
  Clock::time_point last_seen;
};

// The first part of a path; "" for a file in the root.
std::string top_folder_of(std::string_view path);

class ReaderJobs {
 public:
  using Clock = ReaderJob::Clock;
  static constexpr std::size_t kMost = 60;
  static constexpr std::size_t kMostReaders = 512;  // threads of a group that are told apart
  static constexpr std::chrono::minutes kLongestSilence{30};

  // What an access shows of its group.
  struct News {
    int group = 0;
    bool begins_epoch = false;  // of a job
    // A folder of the root that a job reads from for the first time, where that is not known from the epoch before.
    std::optional<std::string> new_folder;
  };
  // Group 0 is whoever cannot be told apart: readers of other containers, and those that were never seen alive.
  News on_access(const Tree& tree, const Node& file, int group, int thread, Clock::time_point now);

  const ReaderJob* find(int group) const;
  // By the job in its epoch; where it may be one of several that share the data set, by any such.
  bool was_read(SampleId id, const ReaderJob& job) const;
  const std::map<int, ReaderJob>& all() const { return jobs_; }
  // Forgets groups for which `is_alive` gives false, and the long silent.
  void forget_gone(Clock::time_point now, const std::function<bool(int group)>& is_alive);

 private:
  ReaderJob& at(int group, std::uint64_t samples, Clock::time_point now);

  std::map<int, ReaderJob> jobs_;
};

// The process groups of readers. One that has ended when its last opens are looked at had the group it was seen in
// before. Not thread-safe.
class ReaderGroups {
 public:
  static constexpr std::size_t kMost = 4096;  // that are remembered
  int of(int thread);                         // 0 if it cannot be known

 private:
  std::unordered_map<int, int> known_;  // by thread
};

bool is_group_alive(int group);

}  // namespace winnow
