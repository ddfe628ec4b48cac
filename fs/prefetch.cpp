#include "fs/prefetch.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace winnow {

namespace {

constexpr std::chrono::seconds kLookForEnded{5};
constexpr std::chrono::milliseconds kLookAgain{50};  // the disk's queue holds more than it writes in this time

}  // namespace

// The thread runs even if it never fetches: it tells the tiers what jobs expect.
Prefetch::Prefetch(Options options, const Snapshots& snapshots, AheadStore& store)
    : options_(options), snapshots_(snapshots), store_(store), limit_(std::max(1u, options.at_once)) {
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "winnow-sweep");
}

Prefetch::~Prefetch() { stop(); }

void Prefetch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Prefetch::on_open(const Tree& tree, const Node& file, int thread, bool in_memory) {
  const SampleId id = sample_of(file.id);
  const auto now = Clock::now();
  ReaderJobs::News news;
  {
    const std::lock_guard lock(mutex_);
    const int group = groups_.of(thread);
    news = jobs_.on_access(tree, file, group, thread, now);
    if (in_memory) consume(id);
    order_.note_reader(id, group);
    note_order_read(id, now);
    note_near_read(file.stat.version.size);
  }
  if (!news.begins_epoch && !news.new_folder) return;
  if (news.begins_epoch) store_.begin_epoch();
  const std::lock_guard lock(mutex_);
  if (news.begins_epoch) {
    plans_due_.insert(news.group);
  } else {
    folders_due_.emplace_back(news.group, std::move(*news.new_folder));
  }
  signal();
}

void Prefetch::wake() {
  const std::lock_guard lock(mutex_);
  signal();
}

// They wait no more, which makes room. Those that were there before the epoch began are fetched like the others; no
// file is fetched twice for nobody, or a kernel short of memory would keep the source busy.
void Prefetch::on_lost(std::span<const SampleId> ids) {
  const auto tree = snapshots_.tree();
  const std::lock_guard lock(mutex_);
  look_for_ended();
  for (const SampleId id : ids) {
    const auto node = tree->find(node_of(id));
    if (!node || !ahead_.has(id) || store_.holds(id, node->stat.version.size)) continue;
    for (auto& [group, plan] : plans_) {
      if (ahead_.waits_for(plan.reader, id) && options_.at_once > 0 && !plan.begun.get(value(id)))
        plan.queue.add(id, store_.importance(id), node->stat.version.size);
    }
    consume(id);
  }
  signal();
}

void Prefetch::signal() {
  is_idle_ = false;
  changed_.notify_all();
}

void Prefetch::on_miss(NodeId node) {
  const SampleId id = sample_of(node);
  const std::lock_guard lock(mutex_);
  consume(id);
  if (options_.tracked) return;
  const auto now = Clock::now();
  for (const SampleId passed : order_.passed_before(id)) {
    consume(passed);
    note_order_read(passed, now);
  }
  note_order_read(id, now);
}

void Prefetch::note_order_read(SampleId id, Clock::time_point now) {
  if (!order_.is_in_force()) return;
  order_.note_read(id, now);
  if (order_.is_in_force()) return;
  end_order();  // that was the last
  signal();
}

void Prefetch::declare(std::vector<SampleId> order) {
  store_.begin_epoch();
  const std::lock_guard lock(mutex_);
  end_order();
  order_ = DeclaredOrder(std::move(order), Clock::now());
  if (options_.tracked) store_.follow_order(order_.is_in_force());
  // All room is the order's.
  if (order_.is_in_force()) {
    for (const auto& [group, plan] : plans_) ahead_.forget(plan.reader);
  }
  signal();
}

void Prefetch::end_order() {
  order_ = {};
  if (options_.tracked) store_.follow_order(false);
  ahead_.forget(kOrderReader);
  survey_due_ = true;
  for (const auto& [group, plan] : plans_) plans_due_.insert(group);
}

void Prefetch::consume(SampleId id) {
  if (!ahead_.remove(id)) return;
  was_refused_ = false;
  if (std::exchange(waits_for_reads_, false)) signal();
}

void Prefetch::run() {
  std::unique_lock lock(mutex_);
  auto look_at = Clock::now() + kLookForEnded;
  while (!stopping_) {
    if (Clock::now() >= look_at) {
      look_for_ended();
      look_at = Clock::now() + kLookForEnded;
    }
    const bool planned = plan_next_due(lock);
    while (!stopping_ && start_next(lock)) {
    }
    while (!stopping_ && bring_next_near(lock)) {
    }
    if (planned || stopping_) continue;
    is_idle_ = true;
    changed_.wait_until(lock, look_again_soon_ ? std::min(look_at, Clock::now() + kLookAgain) : look_at);
  }
}

void Prefetch::look_for_ended() {
  jobs_.forget_gone(Clock::now(), is_group_alive);
  drop_plans();
  if (order_.is_abandoned(jobs_, Clock::now(), is_group_alive)) end_order();
}

// Of jobs that are no more. What was fetched for them makes room, and may leave for others.
void Prefetch::drop_plans() {
  for (auto at = plans_.begin(); at != plans_.end();) {
    if (jobs_.find(at->first) != nullptr) {
      ++at;
      continue;
    }
    ahead_.forget(at->second.reader);
    at = plans_.erase(at);
    survey_due_ = true;
  }
}

// Jobs take turns.
std::optional<Prefetch::Next> Prefetch::first_of_plans() {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    auto at = plans_.upper_bound(turn_);
    if (at == plans_.end()) at = plans_.begin();
    turn_ = at->first;
    if (!at->second.queue.empty()) return Next{at->second.queue.first(), at->first, at->second.reader, false};
  }
  return std::nullopt;
}

bool Prefetch::was_read(const Next& next) const {
  if (next.is_declared) return order_.was_read(next.id);
  const ReaderJob* job = jobs_.find(next.group);
  return job == nullptr || jobs_.was_read(next.id, *job);
}

void Prefetch::pass(const Next& next) {
  if (next.is_declared) {
    order_.pass();
  } else {
    plans_.at(next.group).queue.pop();
  }
}

// The next sample worth fetching; what was read or came in meanwhile is passed over.
std::optional<Prefetch::Next> Prefetch::take_next() {
  while (true) {
    std::optional<Next> next;
    if (order_.is_in_force()) {
      if (const auto id = order_.next()) next = Next{.id = *id, .reader = kOrderReader, .is_declared = true};
    } else if (options_.tracked) {
      next = first_of_plans();
    }
    if (!next || (!was_read(*next) && !ahead_.has(next->id))) return next;
    pass(*next);
  }
}

bool Prefetch::has_room(const Next& next, std::uint64_t room) {
  waits_for_reads_ = ahead_.bytes() + flying_bytes_ + room > options_.window_bytes ||
                     (was_refused_ && ahead_.bytes() > 0);
  if (waits_for_reads_) return false;
  look_again_soon_ = next.is_declared ? !store_.has_room_in_order(ahead_.bytes(), flying_bytes_ + room)
                                      : !store_.has_room_ahead(flying_bytes_ + room);
  if (look_again_soon_) waits_for_reads_ = true;  // a read may make room sooner
  return !look_again_soon_;
}

bool Prefetch::start_next(std::unique_lock<std::mutex>& lock) {
  look_again_soon_ = false;
  if (flying_.size() >= std::min(limit_.value(), options_.at_once)) return false;
  const auto next = take_next();
  if (!next) return false;
  const auto tree = snapshots_.tree();
  const auto node = tree->find(node_of(next->id));
  const std::uint64_t size = node ? node->stat.version.size : 0;
  const std::uint64_t room = store_.room_for(size);
  const bool can_take = node && store_.can_take(node->id);
  if (node && !can_take && next->is_declared && !order_.readers_are_past_next()) {
    // An order may come before the loader has listed what it names: wait for that.
    look_again_soon_ = true;
    return false;
  }
  if (!can_take || size > options_.largest_file_bytes) {
    pass(*next);
    return true;
  }
  if (next->is_declared && store_.holds(next->id, size)) {
    ahead_.add(next->id, room, next->reader);
    pass(*next);
    return true;
  }
  // A disk that is full of what is read later keeps nothing from memory that is read soon.
  const bool is_near = next->is_declared && order_.fetches_near() && store_.has_room_near(size);
  if (!has_room(*next, room) && !is_near) return false;
  pass(*next);
  flying_.insert(value(next->id));
  flying_bytes_ += room;
  const FileRef file{next->id, tree->path(*node), node->stat.version};
  const auto began = Clock::now();
  lock.unlock();
  const bool begun = store_.fetch(
      file, is_near, [this, next = *next, file, began](Fetcher::Brought brought) { finished(next, file, began, brought); });
  lock.lock();
  if (const auto plan = plans_.find(next->group); begun && plan != plans_.end() && !next->is_declared)
    plan->second.begun.set(value(next->id), true);
  if (begun) return true;
  flying_.erase(value(next->id));  // a reader was faster
  flying_bytes_ -= room;
  return true;
}

void Prefetch::finished(const Next& next, const FileRef& file, Clock::time_point began, Fetcher::Brought brought) {
  const bool is_kept = brought != Fetcher::Brought::kNothing && store_.has_taken(file);
  const std::uint64_t room = store_.room_for(file.version.size);
  const std::lock_guard lock(mutex_);
  flying_.erase(value(next.id));
  flying_bytes_ -= room;
  if (brought == Fetcher::Brought::kNothing) {
    ++failed_;
    limit_.on_failure();
  }
  const bool is_waited_for = next.is_declared ? order_.contains(next.id) : plans_.contains(next.group);
  if (is_kept && is_waited_for && !was_read(next)) ahead_.add(next.id, room, next.reader);
  if (brought == Fetcher::Brought::kFromSource) {
    was_refused_ = was_refused_ || !is_kept;
    ++fetched_;
    limit_.on_success(Clock::now() - began);
  }
  signal();
}

PrefetchCounts Prefetch::counts() const {
  const std::lock_guard lock(mutex_);
  PrefetchCounts counts{.fetched = fetched_,
                        .failed = failed_,
                        .ahead_files = ahead_.files(),
                        .ahead_bytes = ahead_.bytes(),
                        .at_once = static_cast<unsigned>(flying_.size()),
                        .limit = options_.at_once == 0 ? 0 : limit_.value(),
                        .declared = order_.left(),
                        .idle = is_idle_};
  for (const auto& [group, plan] : plans_) counts.planned += plan.queue.size();
  for (const auto& [group, job] : jobs_.all()) {
    if (job.watch.is_job()) counts.jobs.push_back({group, job.watch.epoch(), job.watch.reads()});
  }
  return counts;
}

}  // namespace winnow
