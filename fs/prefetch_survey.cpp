// What jobs will read: over all files when an epoch begins or something expected is no more, over a folder when a job
// begins to read from it. Files are looked at by bunches, so that readers and status wait for no more than one.
#include <algorithm>

#include "fs/prefetch.h"

namespace winnow {

namespace {

constexpr std::size_t kBunch = 1024;

// Every regular file below, once for each of its names, with the folder of the root it lies in ("": the root itself).
template <typename Visit>
void visit_files(const Tree& tree, const std::string* only, const Visit& visit) {
  const auto visit_below = [&](const Node& top, const std::string& folder) {
    std::vector<Node> folders{top};
    while (!folders.empty()) {
      const Node at = folders.back();
      folders.pop_back();
      tree.list(at, 0, [&](std::string_view, const Node& node, std::uint64_t) {
        if (is_regular(node.stat)) visit(node, folder);
        if (is_folder(node.stat)) folders.push_back(node);
        return true;
      });
    }
  };
  const std::string root;
  tree.list(tree.root(), 0, [&](std::string_view name, const Node& node, std::uint64_t) {
    if (is_regular(node.stat) && (only == nullptr || only->empty())) visit(node, root);
    if (is_folder(node.stat) && (only == nullptr || *only == name)) visit_below(node, std::string(name));
    return true;
  });
}

}  // namespace

// One of what is due, so that fetches begin between plans; false if nothing was.
bool Prefetch::plan_next_due(std::unique_lock<std::mutex>& lock) {
  if (!plans_due_.empty() || survey_due_) {
    look_for_ended();
    survey_due_ = false;
    const std::set<int> groups = std::exchange(plans_due_, {});
    std::erase_if(folders_due_, [&](const auto& due) { return groups.contains(due.first); });
    for (const int group : groups) begin_plan(group);
    survey(nullptr, groups, lock);
    return true;
  }
  if (folders_due_.empty()) return false;
  const auto [group, folder] = std::move(folders_due_.front());
  folders_due_.pop_front();
  if (plans_.contains(group)) survey(&folder, {group}, lock);
  return true;
}

void Prefetch::begin_plan(int group) {
  was_refused_ = false;
  if (jobs_.find(group) == nullptr) return;
  if (const auto before = plans_.find(group); before != plans_.end()) {
    ahead_.forget(before->second.reader);
    before->second.queue = {};
    before->second.begun = {};
    return;
  }
  unsigned reader = 0;
  const auto is_taken = [&](const auto& entry) { return entry.second.reader == reader; };
  while (std::any_of(plans_.begin(), plans_.end(), is_taken)) ++reader;
  plans_[group].reader = reader;
}

void Prefetch::survey(const std::string* only, const std::set<int>& groups, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const auto tree = snapshots_.tree();
  std::vector<Candidate> bunch;
  bool is_stopping = false;
  const auto foresee_bunch = [&] {
    lock.lock();
    foresee(bunch, groups, lock);
    is_stopping = stopping_;
    lock.unlock();
    bunch.clear();
  };
  std::set<std::string> folders;
  visit_files(*tree, only, [&](const Node& file, const std::string& folder) {
    if (file.stat.version.size == 0 || is_stopping) return;
    const SampleId id = sample_of(file.id);
    const std::uint64_t size = file.stat.version.size;
    bunch.push_back({id, size, store_.importance(id), store_.holds(id, size), &*folders.insert(folder).first});
    if (bunch.size() == kBunch) foresee_bunch();
  });
  foresee_bunch();
  lock.lock();
}

void Prefetch::foresee(std::span<const Candidate> candidates, const std::set<int>& groups,
                       std::unique_lock<std::mutex>& lock) {
  std::vector<AheadStore::Prospect> prospects;
  for (const Candidate& one : candidates) prospects.push_back(prospect_of(one, groups));
  lock.unlock();
  for (std::size_t i = 0; i < candidates.size(); ++i) store_.foresee(candidates[i].id, prospects[i]);
  lock.lock();
}

// Puts it into the plans of the groups, if they will read it; what is held is ahead already. While an order is in force,
// what only others would read makes room for it.
AheadStore::Prospect Prefetch::prospect_of(const Candidate& one, const std::set<int>& groups) {
  const bool is_swept = one.size <= options_.largest_file_bytes;
  const bool is_ordered = order_.is_in_force();
  bool is_expected = is_ordered && order_.contains(one.id);
  bool is_awaited = is_expected && !order_.was_read(one.id);
  if (is_awaited && one.is_held && is_swept) ahead_.add(one.id, store_.room_for(one.size), kOrderReader);
  for (const auto& [group, job] : jobs_.all()) {
    if (!job.watch.is_job() || !job.may_expect(one.id, *one.folder)) continue;
    is_expected = true;
    if (is_ordered || jobs_.was_read(one.id, job)) continue;
    is_awaited = true;
    const auto plan = plans_.find(group);
    const bool is_planned = groups.contains(group) && plan != plans_.end() && is_swept;
    if (!is_planned) continue;
    // What is held and may be expected takes its room too; fetched is only what certainly is.
    if (one.is_held) {
      ahead_.add(one.id, store_.room_for(one.size), plan->second.reader);
    } else if (options_.at_once > 0 && job.expects(one.id, *one.folder)) {
      plan->second.queue.add(one.id, one.importance, one.size);
    }
  }
  if (is_awaited) return AheadStore::Prospect::kWillBeRead;
  return is_expected ? AheadStore::Prospect::kWasRead : AheadStore::Prospect::kNobodys;
}

}  // namespace winnow
