#include "fs/prefetch.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "policy/cache_importance.h"

namespace winnow {

namespace {

constexpr std::chrono::seconds kLookForGone{5};
constexpr std::size_t kReadersApart = 256;  // of a declared order: how far apart its readers may be

}  // namespace

Prefetch::Prefetch(Options options, const Snapshots& snapshots, AheadStore& store)
    : options_(options), snapshots_(snapshots), store_(store), limit_(std::max(1u, options.at_once)) {
  if (options_.at_once == 0) return;
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

void Prefetch::on_open(const Tree& tree, const Node& file, int pid, bool in_memory) {
  const SampleId id = sample_of(file.id);
  const int group = group_of(pid);
  ReaderJobs::News news;
  {
    const std::lock_guard lock(mutex_);
    news = jobs_.on_access(tree, file, group, Clock::now());
    if (in_memory) consume(id);
    note_declared_read(id);
  }
  if (!news.begins_epoch && !news.new_folder) return;
  if (news.begins_epoch) store_.begin_epoch();
  const std::lock_guard lock(mutex_);
  if (options_.at_once > 0) due_.push_back(news.group);
  signal();
}

void Prefetch::wake() {
  const std::lock_guard lock(mutex_);
  signal();
}

void Prefetch::signal() {
  is_idle_ = false;
  changed_.notify_all();
}

void Prefetch::on_miss(NodeId id) {
  const std::lock_guard lock(mutex_);
  consume(sample_of(id));
  if (options_.tracked || !is_declared_) return;
  note_declared_read(sample_of(id));
  // What was pushed is read without a sign; the readers must have passed it by now.
  const std::size_t place = place_.get(value(sample_of(id)));
  for (; declared_until_ + kReadersApart < place; ++declared_until_) {
    const SampleId passed = declared_.order[declared_until_];
    consume(passed);
    note_declared_read(passed);
    if (!is_declared_) return;
  }
}

void Prefetch::declare(std::vector<SampleId> order) {
  {
    const std::lock_guard lock(mutex_);
    place_ = {};
    declared_ = {.order = std::move(order)};
    declared_left_ = declared_.order.size();
    declared_read_.assign(declared_left_, false);
    declared_until_ = 0;
    is_declared_ = declared_left_ > 0;
    for (std::size_t i = 0; i < declared_.order.size(); ++i)
      place_.set(value(declared_.order[i]), static_cast<std::uint32_t>(i + 1));
  }
  store_.begin_epoch();
  wake();
}

void Prefetch::note_declared_read(SampleId id) {
  const std::uint32_t place = is_declared_ ? place_.get(value(id)) : 0;
  if (place == 0 || declared_read_[place - 1]) return;
  declared_read_[place - 1] = true;
  if (--declared_left_ == 0) is_declared_ = false;
}

bool Prefetch::was_read(SampleId id) const {
  const std::uint32_t place = is_declared_ ? place_.get(value(id)) : 0;
  return place > 0 ? declared_read_[place - 1] : jobs_.was_read(id);
}

void Prefetch::set_ahead(SampleId id, std::uint64_t bytes) {
  const std::uint64_t before = ahead_.get(value(id));
  ahead_.set(value(id), bytes);
  ahead_bytes_ = ahead_bytes_ - before + bytes;
  ahead_files_ = ahead_files_ - (before > 0) + (bytes > 0);
}

void Prefetch::consume(SampleId id) {
  if (ahead_.get(value(id)) == 0) return;
  set_ahead(id, 0);
  if (std::exchange(waits_for_room_, false)) signal();
}

void Prefetch::run() {
  std::unique_lock lock(mutex_);
  auto look_at = Clock::now() + kLookForGone;
  while (!stopping_) {
    plan_due(lock);
    if (start_next(lock)) continue;
    is_idle_ = true;
    changed_.wait_until(lock, look_at);
    if (Clock::now() < look_at) continue;
    look_at = Clock::now() + kLookForGone;
    for (const int gone : jobs_.forget_gone(Clock::now(), is_group_alive)) plans_.erase(gone);
  }
}

void Prefetch::plan_due(std::unique_lock<std::mutex>& lock) {
  while (!due_.empty() && !stopping_) {
    const int group = due_.back();
    std::erase(due_, group);
    const ReaderJob* job = jobs_.find(group);
    if (job == nullptr) continue;
    const bool is_first = job->watch.epoch() == 1;
    const auto folders = job->top_folders;
    lock.unlock();
    std::vector<Candidate> candidates = look_at_files(is_first ? &folders : nullptr);
    lock.lock();
    job = jobs_.find(group);
    if (job != nullptr) plans_[group] = make_plan(*job, candidates);
  }
}

// Every file is looked at, which takes a while: readers go on meanwhile.
std::vector<Prefetch::Candidate> Prefetch::look_at_files(const TopFolders* only) const {
  std::vector<Candidate> candidates;
  const auto tree = snapshots_.tree();
  tree->each_file([&](const Node& file) {
    const std::uint64_t size = file.stat.version.size;
    if (size == 0 || size > options_.largest_file_bytes) return;
    if (only != nullptr && !only->contains(top_folder_of(tree->path(file)))) return;
    const SampleId id = sample_of(file.id);
    candidates.push_back({id, size, store_.importance(id), store_.holds(id, size)});
  });
  return candidates;
}

Prefetch::Plan Prefetch::make_plan(const ReaderJob& job, const std::vector<Candidate>& candidates) {
  std::vector<double> importance(candidates.size());
  std::vector<bool> passed_over(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& one = candidates[i];
    importance[i] = one.importance;
    const bool will_be_read = !job.watch.has_read(one.id) && job.watch.expects(one.id);
    passed_over[i] = one.is_held || !will_be_read;
    set_ahead(one.id, one.is_held && will_be_read ? one.size : 0);  // what an ended job left is forgotten
  }
  const std::vector<bool> none(candidates.size());
  Plan plan;
  for (const Index i : sweep_order({.importance = importance, .read = passed_over, .waiting = none}))
    plan.order.push_back(candidates[static_cast<std::size_t>(i)].id);
  return plan;
}

// Jobs take turns.
Prefetch::Plan* Prefetch::next_plan() {
  if (is_declared_) return declared_.next < declared_.order.size() ? &declared_ : nullptr;
  if (!options_.tracked) return nullptr;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    auto at = plans_.upper_bound(turn_);
    if (at == plans_.end()) at = plans_.begin();
    turn_ = at->first;
    if (at->second.next < at->second.order.size()) return &at->second;
  }
  return nullptr;
}

// The next sample worth fetching; what was read or came in meanwhile is passed over.
std::optional<SampleId> Prefetch::take_next() {
  while (Plan* plan = next_plan()) {
    const SampleId id = plan->order[plan->next];
    if (!was_read(id) && ahead_.get(value(id)) == 0) return id;
    ++plan->next;
  }
  return std::nullopt;
}

bool Prefetch::start_next(std::unique_lock<std::mutex>& lock) {
  if (flying_ >= std::min(limit_.value(), options_.at_once)) return false;
  const auto id = take_next();
  if (!id) return false;
  const auto tree = snapshots_.tree();
  const auto file = tree->find(node_of(*id));
  Plan& plan = is_declared_ ? declared_ : plans_[turn_];
  if (!file || !store_.can_take(file->id) || file->stat.version.size > options_.largest_file_bytes) {
    ++plan.next;
    return true;
  }
  const std::uint64_t size = file->stat.version.size;
  if (is_declared_ && store_.holds(*id, size)) {
    set_ahead(*id, size);
    ++plan.next;
    return true;
  }
  if (ahead_bytes_ + flying_bytes_ + size > options_.window_bytes || !store_.has_room_ahead(flying_bytes_ + size)) {
    waits_for_room_ = true;
    return false;
  }
  ++plan.next;
  ++flying_;
  flying_bytes_ += size;
  const auto began = Clock::now();
  lock.unlock();
  const bool begun = store_.fetch({*id, tree->path(*file), file->stat.version},
                                  [this, id = *id, size, began](Fetcher::Brought brought) { finished(id, size, began, brought); });
  lock.lock();
  if (begun) return true;
  --flying_;  // a reader was faster
  flying_bytes_ -= size;
  return true;
}

void Prefetch::finished(SampleId id, std::uint64_t size, Clock::time_point began, Fetcher::Brought brought) {
  const std::lock_guard lock(mutex_);
  --flying_;
  flying_bytes_ -= size;
  if (brought == Fetcher::Brought::kNothing) {
    ++failed_;
    limit_.on_failure();
  } else if (!was_read(id)) {
    set_ahead(id, size);
  }
  if (brought == Fetcher::Brought::kFromSource) {
    ++fetched_;
    limit_.on_success(Clock::now() - began);
  }
  signal();
}

PrefetchCounts Prefetch::counts() const {
  const std::lock_guard lock(mutex_);
  PrefetchCounts counts{.fetched = fetched_,
                        .failed = failed_,
                        .ahead_files = ahead_files_,
                        .ahead_bytes = ahead_bytes_,
                        .at_once = flying_,
                        .limit = options_.at_once == 0 ? 0 : limit_.value(),
                        .declared = is_declared_ ? declared_left_ : 0,
                        .idle = is_idle_};
  for (const auto& [group, plan] : plans_) counts.planned += plan.order.size() - plan.next;
  for (const auto& [group, job] : jobs_.all()) {
    if (job.watch.is_job()) counts.jobs.push_back({group, job.watch.epoch(), job.watch.reads()});
  }
  return counts;
}

}  // namespace winnow
