#include "fs/page_tier.h"

#include <chrono>
#include <thread>

namespace winnow {

namespace {

constexpr int kStoreTries = 10;
constexpr std::chrono::milliseconds kStorePause{2};

}  // namespace

PageTier::PageTier(KernelCache& kernel, const Snapshots& snapshots, WorkerPool& notifications,
                   std::uint64_t budget_bytes, std::unique_ptr<EvictionPolicy> policy,
                   PageCounts& page_counts)
    : kernel_(kernel),
      snapshots_(snapshots),
      notifications_(notifications),
      residency_(budget_bytes, std::move(policy), page_counts) {}

bool PageTier::was_served(SampleId id) const {
  if (all_served_) return true;
  const std::lock_guard lock(served_mutex_);
  return served_.get(value(id));
}

void PageTier::note_served(SampleId id) {
  const std::lock_guard lock(served_mutex_);
  served_.set(value(id), true);
}

void PageTier::note_read(const FileRef& file, std::uint64_t bytes) {
  note_served(file.id);
  if (residency_.add(file.id, bytes, file.version.size)) trim_soon();
}

void PageTier::push(Push push) {
  const std::uint64_t size = push.bytes.size();
  if (push.ahead && ((!push_ahead_ && !push.near) || !residency_.has_room_ahead(size))) return push.done();
  if (waiting_bytes_.fetch_add(size) + size > kMaxWaitingBytes) {
    waiting_bytes_ -= size;
    ++skipped_pushes_;
    return push.done();
  }
  const auto done = push.done;
  const SampleId id = push.file.id;
  note_coming(id, true);
  const bool taken =
      notifications_.submit(WorkerPool::Urgency::kBackground, 0, [this, size, id, push = std::move(push)] {
        if (store(push)) trim_soon();
        note_coming(id, false);
        push.done();
        waiting_bytes_ -= size;
      });
  if (taken) return;
  note_coming(id, false);
  done();
}

void PageTier::push_here(const Push& push) {
  if (store(push)) trim();  // many come in a row, and a trim that waits its turn would be late
  push.done();
  expect_no_more(push.bytes.size());
}

void PageTier::note_coming(SampleId id, bool is_coming) {
  const std::lock_guard lock(served_mutex_);
  if (is_coming) {
    coming_.insert(value(id));
  } else {
    coming_.erase(coming_.find(value(id)));
  }
}

bool PageTier::is_coming(SampleId id) const {
  const std::lock_guard lock(served_mutex_);
  return coming_.contains(value(id));
}

// True if the budget is passed.
bool PageTier::store(const Push& push) {
  std::uint64_t stored = 0;
  for (const Range& range : push.missing()) {
    const Bytes part = push.bytes.part(range.offset - push.offset, range.size);
    note_served(push.file.id);
    if (store_when_known(node_of(push.file.id), range.offset, part.span())) {
      ++skipped_pushes_;
      break;
    }
    stored += part.size();
  }
  if (stored == 0) return false;
  ++pushed_files_;
  pushed_bytes_ += stored;
  return residency_.add(push.file.id, stored, push.file.version.size, push.ahead);
}

std::error_code PageTier::store_when_known(NodeId id, std::uint64_t offset, std::span<const std::byte> bytes) {
  auto error = kernel_.store(id, offset, bytes);
  for (int tries = 1; error == errno_error(ENOENT) && tries < kStoreTries && was_told_ && was_told_(id); ++tries) {
    std::this_thread::sleep_for(kStorePause);
    error = kernel_.store(id, offset, bytes);
  }
  return error;
}

void PageTier::trim_soon() {
  if (trim_queued_.exchange(true)) return;
  notifications_.submit(WorkerPool::Urgency::kDemand, 0, [this] {
    trim_queued_ = false;
    trim();
  });
}

void PageTier::trim() {
  const auto tree = snapshots_.tree();
  for (const SampleId id : residency_.choose_victims()) drop(*tree, id);
}

void PageTier::drop(const Tree& tree, SampleId id) {
  ++dropped_files_;
  const auto node = tree.find(node_of(id));
  const auto left = node ? kernel_.drop(node->id, tree.path(*node)) : std::nullopt;
  // Without a name to open it by, or a right to, only its attributes can go along with its pages.
  if (!left) kernel_.invalidate_node(node_of(id));
  residency_.correct(id, left.value_or(0));
}

void PageTier::discard(SampleId id) {
  kernel_.invalidate_node(node_of(id));  // also what is mapped, which drop() would leave
  residency_.correct(id, 0);
}

PageTier::Audit PageTier::audit(std::size_t samples) {
  const auto tree = snapshots_.tree();
  Audit found;
  std::size_t looked = 0;
  std::size_t wrong = 0;
  for (const SampleId id : residency_.sample(samples)) {
    const auto node = tree->find(node_of(id));
    const auto really = node ? kernel_.resident(tree->path(*node)) : std::nullopt;
    if (!really) continue;
    ++looked;
    const std::uint64_t thought = residency_.bytes(id);
    if (*really == thought) continue;
    ++wrong;
    if (*really < thought) found.lost.push_back(id);
    residency_.correct(id, *really);
  }
  if (residency_.is_over_budget()) trim_soon();  // what could not be dropped when its turn came
  if (looked > 0) found.wrong = static_cast<double>(wrong) / static_cast<double>(looked);
  return found;
}

PageTierCounts PageTier::counts() const {
  return {.pushed_files = pushed_files_,
          .pushed_bytes = pushed_bytes_,
          .skipped_pushes = skipped_pushes_,
          .dropped_files = dropped_files_};
}

}  // namespace winnow
