// Brings samples to the tiers before they are read: those that a job's epoch has not read yet, in the order of the
// policy, or a declared order, exactly. So many at a time, fewer when the source slows; never more than the tiers can
// keep until they are read. One thread decides; fetches run in the read path's pool, after whatever a reader waits for.
// Thread-safe; no call waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cache/fetcher.h"
#include "cache/file_ref.h"
#include "cache/prefetch_limit.h"
#include "fs/reader_jobs.h"
#include "fs/snapshots.h"
#include "policy/paged_array.h"

namespace winnow {

struct PrefetchCounts {
  std::uint64_t fetched = 0;
  std::uint64_t failed = 0;
  std::uint64_t ahead_files = 0;  // in a tier, and not read yet this epoch
  std::uint64_t ahead_bytes = 0;
  std::uint64_t planned = 0;  // still to be fetched or passed over
  unsigned at_once = 0;       // under way
  unsigned limit = 0;         // how many may be
  std::uint64_t declared = 0;  // of a declared order, those not read yet
  bool idle = false;           // nothing to begin until something is read, ends or a job comes
  struct Job {
    int group = 0;
    std::uint64_t epoch = 0;
    std::uint64_t reads = 0;  // this epoch
  };
  std::vector<Job> jobs;
};

// Where a prefetch puts what it brings. Thread-safe; no call waits.
class AheadStore {
 public:
  virtual ~AheadStore() = default;
  virtual bool holds(SampleId id, std::uint64_t size) const = 0;    // all of it
  virtual bool has_room_ahead(std::uint64_t bytes) const = 0;       // for unread bytes, without driving out others
  virtual bool can_take(NodeId id) const = 0;                       // it could keep this one
  virtual double importance(SampleId id) const = 0;
  virtual void begin_epoch() = 0;
  // Brings a file; `done` is called once, from any thread, unless this gives false: it is being fetched already.
  virtual bool fetch(const FileRef& file, Fetcher::Prefetched done) = 0;
};

class Prefetch {
 public:
  struct Options {
    unsigned at_once = 32;                  // 0: never
    std::uint64_t window_bytes = 0;         // what may wait to be read
    std::uint64_t largest_file_bytes = 8 << 20;  // larger ones are read by windows, and not ahead
    bool tracked = true;                    // opens are seen; else only a declared order can be followed
  };

  Prefetch(Options options, const Snapshots& snapshots, AheadStore& store);
  ~Prefetch();

  // `in_memory`: no READ will follow. Of other files, the READ makes room, not the open: until then they must stay.
  void on_open(const Tree& tree, const Node& file, int pid, bool in_memory);
  void on_miss(NodeId id);  // a READ came; where opens are not seen, it tells how far a declared order was read
  // Follows this order until each of its samples was read, instead of what it would do by itself. An empty one ends it.
  void declare(std::vector<SampleId> order);
  void wake();  // there may be room now
  void stop();  // begins nothing more; what is under way calls back until the read path has stopped

  PrefetchCounts counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  using TopFolders = std::set<std::string, std::less<>>;
  struct Candidate {
    SampleId id{};
    std::uint64_t size = 0;
    double importance = 1;
    bool is_held = false;
  };
  struct Plan {
    std::vector<SampleId> order;
    std::size_t next = 0;
  };

  void run();
  void plan_due(std::unique_lock<std::mutex>& lock);
  std::vector<Candidate> look_at_files(const TopFolders* only) const;
  bool start_next(std::unique_lock<std::mutex>& lock);
  // With mutex_ held:
  Plan make_plan(const ReaderJob& job, const std::vector<Candidate>& candidates);
  std::optional<SampleId> take_next();
  bool was_read(SampleId id) const;
  void signal();
  Plan* next_plan();
  void set_ahead(SampleId id, std::uint64_t bytes);
  void consume(SampleId id);
  void note_declared_read(SampleId id);
  void finished(SampleId id, std::uint64_t size, Clock::time_point began, Fetcher::Brought brought);

  const Options options_;
  const Snapshots& snapshots_;
  AheadStore& store_;

  mutable std::mutex mutex_;  // guards all below; not held while a fetch is begun
  std::condition_variable changed_;
  ReaderJobs jobs_;
  std::map<int, Plan> plans_;  // by group
  std::vector<int> due_;       // groups that need a plan
  int turn_ = 0;               // the group whose plan was served last
  bool is_declared_ = false;
  Plan declared_;
  PagedArray<std::uint32_t> place_;  // in the declared order, from 1
  std::vector<bool> declared_read_;
  std::size_t declared_left_ = 0;
  std::size_t declared_until_ = 0;  // all before this place was read
  PagedArray<std::uint64_t> ahead_;  // bytes in a tier of what was not read yet
  std::uint64_t ahead_bytes_ = 0;
  std::uint64_t ahead_files_ = 0;
  PrefetchLimit limit_;
  unsigned flying_ = 0;
  std::uint64_t flying_bytes_ = 0;
  std::uint64_t fetched_ = 0;
  std::uint64_t failed_ = 0;
  bool waits_for_room_ = false;
  bool is_idle_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace winnow
