// Brings samples to the tiers before they are read: those that a job's epoch has not read yet, in the order of the
// policy, or a declared order, exactly. So many at a time, fewer when the source slows; never more than the tiers can
// keep until they are read. Tells the tiers what no job will read, so that it leaves first. One thread decides; fetches
// run in the read path's pool, after whatever a reader waits for. Thread-safe; no call waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cache/fetcher.h"
#include "cache/file_ref.h"
#include "cache/prefetch_limit.h"
#include "fs/ahead_ledger.h"
#include "fs/ahead_store.h"
#include "fs/declared_order.h"
#include "fs/reader_jobs.h"
#include "fs/snapshots.h"
#include "policy/paged_array.h"
#include "policy/sweep_queue.h"

namespace winnow {

struct PrefetchCounts {
  std::uint64_t fetched = 0;
  std::uint64_t failed = 0;
  std::uint64_t ahead_files = 0;  // in a tier, and not read yet this epoch
  std::uint64_t ahead_bytes = 0;  // the room they take
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

class Prefetch {
 public:
  struct Options {
    unsigned at_once = 32;                  // 0: never
    std::uint64_t window_bytes = 0;         // what may wait to be read, as the store counts its room
    std::uint64_t largest_file_bytes = 8 << 20;  // larger ones are read by windows, and not ahead
    bool tracked = true;                    // opens are seen; else only a declared order can be followed
  };

  Prefetch(Options options, const Snapshots& snapshots, AheadStore& store);
  ~Prefetch();

  // `in_memory`: no READ will follow. Of other files, the READ makes room, not the open: until then they must stay.
  void on_open(const Tree& tree, const Node& file, int thread, bool in_memory);
  void on_miss(NodeId id);  // a READ came; where opens are not seen, it tells how far a declared order was read
  // Follows this order until it ends (DeclaredOrder), instead of what it would do by itself. An empty one ends it.
  void declare(std::vector<SampleId> order);
  void on_lost(std::span<const SampleId> ids);  // a tier holds them no more, though nobody read them
  void wake();  // there may be room now
  void stop();  // begins nothing more; what is under way calls back until the read path has stopped

  PrefetchCounts counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kOrderReader = AheadLedger::kReaders - 1;
  struct Plan {
    unsigned reader = 0;  // in ahead_
    SweepQueue queue;
    PagedArray<bool> begun;  // to be fetched for this epoch
  };
  struct Candidate {
    SampleId id{};
    std::uint64_t size = 0;
    double importance = 1;
    bool is_held = false;
    const std::string* folder = nullptr;
  };
  struct Next {
    SampleId id{};
    int group = 0;  // whose plan it is of, unless it is of the order
    unsigned reader = 0;
    bool is_declared = false;
  };

  void run();
  bool plan_next_due(std::unique_lock<std::mutex>& lock);
  void survey(const std::string* only, const std::set<int>& groups, std::unique_lock<std::mutex>& lock);
  void foresee(std::span<const Candidate> candidates, const std::set<int>& groups,
               std::unique_lock<std::mutex>& lock);
  bool start_next(std::unique_lock<std::mutex>& lock);
  bool bring_next_near(std::unique_lock<std::mutex>& lock);
  // With mutex_ held:
  AheadStore::Prospect prospect_of(const Candidate& one, const std::set<int>& groups);
  void look_for_ended();
  void drop_plans();
  void begin_plan(int group);
  void note_order_read(SampleId id, Clock::time_point now);
  void note_near_read(std::uint64_t bytes);
  void end_order();
  std::optional<Next> take_next();
  std::optional<Next> first_of_plans();
  bool was_read(const Next& next) const;
  void pass(const Next& next);
  std::vector<FileRef> take_next_near();
  bool has_room(const Next& next, std::uint64_t room);
  void signal();
  void consume(SampleId id);
  void finished(const Next& next, const FileRef& file, Clock::time_point began, Fetcher::Brought brought);

  const Options options_;
  const Snapshots& snapshots_;
  AheadStore& store_;

  mutable std::mutex mutex_;  // guards all below; not held while a fetch is begun
  std::condition_variable changed_;
  ReaderGroups groups_;
  ReaderJobs jobs_;
  std::map<int, Plan> plans_;  // by group
  int turn_ = 0;               // the group whose plan was served last
  std::set<int> plans_due_;    // groups whose epoch began
  std::deque<std::pair<int, std::string>> folders_due_;  // that a group has begun to read from
  bool survey_due_ = false;    // what was expected is no more
  DeclaredOrder order_;
  AheadLedger ahead_;
  PrefetchLimit limit_;
  std::unordered_set<std::uint64_t> flying_;  // being fetched
  std::uint64_t flying_bytes_ = 0;            // the room they will take
  unsigned nearing_ = 0;         // bunches being brought near
  bool waits_for_near_ = false;  // there is no room for more
  std::size_t read_near_files_ = 0;    // since then
  std::uint64_t read_near_bytes_ = 0;
  std::uint64_t fetched_ = 0;
  std::uint64_t failed_ = 0;
  bool waits_for_reads_ = false;  // the window is full
  bool look_again_soon_ = false;  // nobody tells when the store has room, or the kernel a name
  bool was_refused_ = false;  // by a tier with less room than we thought: what is fetched for nobody is fetched twice
  bool is_idle_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace winnow
