#include "fs/tiers.h"

#include <algorithm>

#include "policy/registry.h"

namespace winnow {

namespace {

constexpr std::uint64_t kRoomOfDisk = 94;  // percent that slots can use, after rounding, index and crumbs

constexpr std::uint64_t kLeastSlack = 2 << 20;  // for what is being read, and for what comes in meanwhile

std::unique_ptr<DiskTier> open_disk(const MountOptions& options, const std::string& source_identity) {
  if (options.disk_bytes == 0) return nullptr;
  return std::make_unique<DiskTier>(DiskOptions{.store = {.directory = options.disk_dir,
                                                          .budget_bytes = options.disk_bytes,
                                                          .source_identity = source_identity,
                                                          .owner = options.state_dir + "/lock"},
                                                .eviction = make_eviction(options.policy, ""),
                                                .admission = make_admission(options.policy)});
}

bool is_by_epoch(const std::string& policy) {
  return dynamic_cast<EpochEviction*>(make_eviction(policy, "").get()) != nullptr;
}

}  // namespace

Tiers::Tiers(const MountOptions& options, const std::string& source_identity, const Snapshots& snapshots,
             bool is_new)
    : snapshots_(snapshots),
      memory_bytes_(options.page_cache ? options.memory_bytes : 0),
      by_epoch_(is_by_epoch(options.policy)) {
  try {
    disk_ = open_disk(options, source_identity);
  } catch (const StartupError& error) {
    if (is_new) throw;
    disk_refusal_ = error.what();
  } catch (const std::exception& error) {  // a folder that cannot be listed, no memory, no thread
    disk_refusal_ = "disk tier " + options.disk_dir + " cannot be opened: " + error.what();
    if (is_new) throw StartupError(disk_refusal_ + "; mend that or give another --disk-dir");
  }
}

void Tiers::attach(PageTier* pages, ReadPath& reads, std::function<bool(NodeId)> kernel_knows) {
  pages_ = pages;
  reads_ = &reads;
  kernel_knows_ = std::move(kernel_knows);
}

// Whoever finds its pages in memory sends no READ; the disk learns of the others from theirs. An open alone would be
// too early: the sample could go before it is read.
bool Tiers::note_open(SampleId id, std::uint64_t size) {
  if (!in_memory(id, size)) return false;
  if (disk_) disk_->touch(id);
  return true;
}

void Tiers::adopt() {
  const auto tree = snapshots_.tree();
  if (disk_) {
    disk_->adopt([&](const DiskTier::FileVisit& visit) {
      tree->each_file([&](const Node& file) { visit(sample_of(file.id), tree->path(file), file.stat.version); });
    });
  }
  adopted_ = true;
}

void Tiers::set_importance(SampleId id, double importance) {
  {
    const std::lock_guard lock(mutex_);
    importance_.set(value(id), {importance});
  }
  if (disk_) disk_->set_importance(id, importance);
  if (pages_ != nullptr) pages_->set_importance(id, importance);
}

double Tiers::importance(SampleId id) const {
  const std::lock_guard lock(mutex_);
  return importance_.get(value(id)).value;
}

void Tiers::begin_epoch() {
  if (disk_) disk_->begin_epoch();
  if (pages_ != nullptr) pages_->begin_epoch();
}

bool Tiers::in_memory(SampleId id, std::uint64_t size) const {
  return pages_ != nullptr && size > 0 && pages_->residency().bytes(id) >= size;
}

bool Tiers::on_disk(SampleId id, std::uint64_t size) const {
  return disk_ && size > 0 && disk_->stored_bytes(id) >= size;
}

bool Tiers::holds(SampleId id, std::uint64_t size) const { return on_disk(id, size) || in_memory(id, size); }

std::uint64_t Tiers::waiting_bytes() const {
  if (disk_) return disk_->counts().queued_bytes;
  return pages_ != nullptr ? pages_->waiting_bytes() : 0;
}

std::uint64_t Tiers::window_bytes() const {
  if (disk_) {
    const std::uint64_t budget = disk_->counts().budget_bytes;
    return std::min(budget / 100 * kRoomOfDisk, budget - std::min(budget / 2, kLeastSlack));
  }
  return memory_bytes_ / 4 * 3;
}

bool Tiers::has_room_ahead(std::uint64_t bytes) const {
  if (!adopted_) return false;
  if (!disk_) return pages_ != nullptr && pages_->residency().has_room_ahead(bytes);
  const DiskCounts counts = disk_->counts();
  if (!counts.writing) return false;
  return by_epoch_ || counts.bytes_stored + counts.queued_bytes + bytes <= window_bytes();
}

// Only a file that the kernel knows has pages to be pushed to.
bool Tiers::can_take(NodeId id) const { return disk_ || (kernel_knows_ && kernel_knows_(id)); }

TierShares Tiers::shares() const {
  TierShares shares;
  snapshots_.tree()->each_file([&](const Node& file) {
    const SampleId id = sample_of(file.id);
    const std::uint64_t size = file.stat.version.size;
    const bool memory = in_memory(id, size);
    const bool disk = on_disk(id, size);
    shares.memory_files += memory;
    shares.memory_bytes += memory ? size : 0;
    shares.disk_files += disk;
    shares.disk_bytes += disk ? size : 0;
    shares.nowhere_files += !memory && !disk;
    shares.nowhere_bytes += !memory && !disk ? size : 0;
  });
  return shares;
}

}  // namespace winnow
