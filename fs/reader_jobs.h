// Who reads the mount: accesses gathered by process group, and which of the groups are jobs, with their epochs. Groups
// that have ended, or not read for long, are forgotten. Not thread-safe; the clock comes from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fs/tree.h"
#include "policy/epoch_watch.h"

namespace winnow {

struct ReaderJob {
  using Clock = std::chrono::steady_clock;

  explicit ReaderJob(std::uint64_t samples) : watch(samples) {}

  EpochWatch watch;
  std::set<std::string, std::less<>> top_folders;  // of the root, read from in the first epoch
  std::string last_path;
  Clock::time_point last_seen;
};

// The first part of a path; "" for a file in the root.
std::string top_folder_of(std::string_view path);

class ReaderJobs {
 public:
  using Clock = ReaderJob::Clock;
  static constexpr std::size_t kMost = 64;
  static constexpr std::chrono::minutes kLongestSilence{30};

  // What an access shows of its group.
  struct News {
    int group = 0;
    bool begins_epoch = false;  // of a job
    bool new_folder = false;    // a job in its first epoch reads from a folder of the root it has not read from before
  };
  // Group 0 is whoever cannot be told apart: readers of other containers, and those that have ended.
  News on_access(const Tree& tree, const Node& file, int group, Clock::time_point now);

  const ReaderJob* find(int group) const;
  bool was_read(SampleId id) const;  // by some job, in its epoch
  const std::map<int, ReaderJob>& all() const { return jobs_; }
  // Forgets groups for which `is_alive` gives false, and the long silent; gives those that were jobs.
  std::vector<int> forget_gone(Clock::time_point now, const std::function<bool(int group)>& is_alive);

 private:
  ReaderJob& at(int group, std::uint64_t samples, Clock::time_point now);

  std::map<int, ReaderJob> jobs_;
};

// The process group of a reader; 0 if it cannot be known.
int group_of(int pid);
bool is_group_alive(int group);

}  // namespace winnow
