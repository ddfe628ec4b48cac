// Of a declared order, what lies on the disk is brought to memory a little before it is read, by bunches.
#include "fs/prefetch.h"

namespace winnow {

namespace {

// So many files at a time, and so many such bunches, since the disk works while others are pushed.
constexpr std::size_t kBunchFiles = 8;
constexpr std::uint64_t kBunchBytes = 1 << 20;
constexpr unsigned kBunches = 8;

}  // namespace

// There is room near for another bunch: looking after each file would cost more than the file.
void Prefetch::note_near_read(std::uint64_t bytes) {
  if (!waits_for_near_) return;
  ++read_near_files_;
  read_near_bytes_ += bytes;
  if (read_near_files_ >= kBunchFiles || read_near_bytes_ >= kBunchBytes) signal();
}

// Of the order, in order. What is still being fetched is waited for, and names that the kernel does not know yet; what was
// not kept is passed over.
std::vector<FileRef> Prefetch::take_next_near() {
  const auto tree = snapshots_.tree();
  std::vector<FileRef> bunch;
  std::uint64_t bytes = 0;
  waits_for_near_ = false;
  read_near_files_ = 0;
  read_near_bytes_ = 0;
  while (bunch.size() < kBunchFiles && bytes < kBunchBytes) {
    const auto id = order_.next_near();
    if (!id || flying_.contains(value(*id))) break;
    const auto node = tree->find(node_of(*id));
    const std::uint64_t size = node ? node->stat.version.size : 0;
    const bool is_far = node && !order_.was_read(*id) && store_.holds(*id, size) && !store_.is_near(*id, size);
    const bool is_known = is_far && store_.can_come_near(node->id);
    if (is_far && !is_known && !order_.readers_are_past_near()) {
      look_again_soon_ = true;
      break;
    }
    if (is_known) {
      waits_for_near_ = !store_.has_room_near(bytes + size);
      if (waits_for_near_) break;
      bunch.push_back({*id, tree->path(*node), node->stat.version});
      bytes += size;
    }
    order_.pass_near();
  }
  return bunch;
}

bool Prefetch::bring_next_near(std::unique_lock<std::mutex>& lock) {
  if (!options_.tracked || nearing_ >= kBunches) return false;
  std::vector<FileRef> bunch = take_next_near();
  if (bunch.empty()) return false;
  ++nearing_;
  lock.unlock();
  store_.bring_near(std::move(bunch), [this] {
    const std::lock_guard again(mutex_);
    --nearing_;
    signal();
  });
  lock.lock();
  return true;
}

}  // namespace winnow
