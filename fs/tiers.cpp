#include "fs/tiers.h"

#include <algorithm>

#include "policy/registry.h"

namespace winnow {

namespace {

// Of the disk, besides what slots and records take: for what comes in while others leave, and for crumbs. A sweep goes
// from small files to large ones, which the holes of small ones do not fit: with less, some find no room.
constexpr std::uint64_t kLeastSlack = 2 << 20;
constexpr std::uint64_t kSlackShare = 26;  // or one of so many parts, if that is more

constexpr std::uint64_t kPage = 4096;

constexpr std::uint64_t kQueueBytes = 64 << 20;                  // waiting to be written to the disk
constexpr std::uint64_t kQueueAheadBytes = kQueueBytes / 4 * 3;  // the rest is for what readers fetch themselves

// Below that of any sample that a job expects, whatever its score.
constexpr double kNobodysImportance = -1;

std::uint64_t slack_of(std::uint64_t disk_bytes) {
  return std::min(disk_bytes / 16, std::max(kLeastSlack, disk_bytes / kSlackShare));
}

std::unique_ptr<DiskTier> open_disk(const MountOptions& options, const std::string& source_identity,
                                    std::unique_ptr<BlockIo> io) {
  if (options.disk_bytes == 0) return nullptr;
  return std::make_unique<DiskTier>(DiskOptions{.store = {.directory = options.disk_dir,
                                                          .budget_bytes = options.disk_bytes,
                                                          .source_identity = source_identity,
                                                          .owner = options.state_dir + "/lock"},
                                                .eviction = make_eviction(options.policy, ""),
                                                .admission = make_admission(options.policy),
                                                .queue_bytes = kQueueBytes,
                                                .io = std::move(io)});
}

bool is_by_epoch(const std::string& policy) {
  return dynamic_cast<EpochEviction*>(make_eviction(policy, "").get()) != nullptr;
}

}  // namespace

Tiers::Tiers(const MountOptions& options, const std::string& source_identity, const Snapshots& snapshots,
             bool is_new, std::unique_ptr<BlockIo> io)
    : snapshots_(snapshots),
      memory_bytes_(options.page_cache ? options.memory_bytes : 0),
      by_epoch_(is_by_epoch(options.policy)),
      oldest_leaves_(options.policy == "lru") {
  try {
    disk_ = open_disk(options, source_identity, std::move(io));
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
    if (nobodys_.get(value(id))) return;
  }
  rank(id, importance);
}

void Tiers::rank(SampleId id, double importance) {
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

// What no job expects must not keep out what one does, read or unread, nor come in for it; it leaves only for that.
void Tiers::foresee(SampleId id, Prospect prospect) {
  if (!by_epoch_) return;
  const bool is_nobodys = prospect == Prospect::kNobodys;
  bool changes = false;
  double importance = 0;
  {
    const std::lock_guard lock(mutex_);
    changes = nobodys_.get(value(id)) != is_nobodys;
    nobodys_.set(value(id), is_nobodys);
    importance = importance_.get(value(id)).value;
  }
  if (changes) rank(id, is_nobodys ? kNobodysImportance : importance);
  if (prospect == Prospect::kWillBeRead) return;
  if (disk_ && disk_->stored_bytes(id) > 0) disk_->touch(id);
  if (pages_ != nullptr && pages_->residency().bytes(id) > 0) pages_->note_open(node_of(id));
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
    const std::uint64_t capacity = disk_->capacity_bytes();
    return capacity - slack_of(capacity);
  }
  return Residency::most_ahead(memory_bytes_);
}

bool Tiers::has_taken(const FileRef& file) const {
  if (disk_ && disk_->contains(file)) return true;
  return in_memory(file.id, file.version.size) || (pages_ != nullptr && pages_->is_coming(file.id));
}

// What finds the queue full is dropped, and its reader must fetch it again.
bool Tiers::can_queue(const DiskCounts& counts, std::uint64_t bytes) const {
  return counts.may_write && counts.queued_bytes + bytes <= kQueueAheadBytes;
}

bool Tiers::has_room_ahead(std::uint64_t bytes) const { return keeps_unread() && has_room(bytes); }

bool Tiers::has_room(std::uint64_t bytes) const {
  if (!adopted_) return false;
  if (!disk_) return pages_ != nullptr && pages_->has_room_ahead(bytes);
  const DiskCounts counts = disk_->counts();
  if (!can_queue(counts, bytes)) return false;
  return by_epoch_ || has_free_room(counts, bytes);
}

bool Tiers::has_free_room(const DiskCounts& counts, std::uint64_t bytes) const {
  return counts.queued_bytes + bytes + slack_of(counts.budget_bytes) <= counts.room_bytes;
}

std::uint64_t Tiers::room_for(std::uint64_t file_bytes) const {
  return disk_ ? disk_->bytes_taken_by(file_bytes) : (file_bytes + kPage - 1) / kPage * kPage;
}

// If the oldest leaves, and not all fits, what was swept early would leave before it is read.
bool Tiers::keeps_unread() const {
  if (!oldest_leaves_) return true;
  const auto tree = snapshots_.tree();
  const auto& header = tree->catalogue().header();
  return header.total_bytes + header.files * kPage <= (disk_ ? window_bytes() : memory_bytes_);
}

// Between coming in and being read, what is younger than a sample is what was fetched behind it and what was read before
// it: each no more than what waits. So if the oldest leaves, half of the room may wait, and they are never among it.
bool Tiers::has_room_in_order(std::uint64_t ahead, std::uint64_t bytes) const {
  if (keeps_unread()) return has_room(bytes);
  const bool can_take = disk_ ? adopted_ && can_queue(disk_->counts(), bytes) : has_room(bytes);
  return can_take && ahead + bytes <= window_bytes() / 2;
}

// Only a file that the kernel knows has pages to be pushed to.
bool Tiers::can_take(NodeId id) const { return disk_ || can_come_near(id); }

// Where nothing is brought near, memory goes on taking in what is fetched.
void Tiers::follow_order(bool is_followed) {
  if (disk_ && by_epoch_ && pages_ != nullptr) pages_->push_ahead(!is_followed);
}

bool Tiers::has_room_near(std::uint64_t bytes) const {
  if (!disk_ || !by_epoch_ || pages_ == nullptr) return false;
  return pages_->has_room_ahead(bytes) && pages_->waiting_bytes() + bytes <= PageTier::kMaxWaitingBytes;
}

void Tiers::bring_near(std::vector<FileRef> held, std::function<void()> done) {
  std::uint64_t bytes = 0;
  for (const FileRef& file : held) bytes += file.version.size;
  pages_->expect(bytes);
  const bool taken = nearing_.submit(WorkerPool::Urgency::kBackground, 0,
                                     [this, bytes, done, held = std::move(held)]() mutable {
                                       pages_->expect_no_more(bytes - reads_->bring_near(std::move(held)));
                                       done();
                                     });
  if (taken) return;
  pages_->expect_no_more(bytes);
  done();
}

void Tiers::stop() { nearing_.stop(); }

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
