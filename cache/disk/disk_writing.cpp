// The disk tier's writing thread: takes what is queued by batches, makes room, writes all of a batch at once,
// and only then tells ledger and index, so that no record is older than its bytes.
#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "cache/disk/disk_tier.h"

namespace winnow {
namespace {

constexpr std::uint64_t kBatchBytes = 4 << 20;
constexpr std::size_t kBatchSlots = 64;
constexpr std::uint64_t kGrowBytes = 64 << 20;

// Makes one piece of those that follow each other in file and memory: slots of a batch mostly do, and a
// filesystem takes a write that begins within one of its blocks much more slowly than one that does not.
void join(std::vector<IoPiece>& pieces) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    IoPiece& before = pieces[last];
    const IoPiece& piece = pieces[i];
    const std::size_t size = before.bytes.size();
    if (before.fd == piece.fd && before.offset + size == piece.offset &&
        before.bytes.data() + size == piece.bytes.data()) {
      before.bytes = {before.bytes.data(), size + piece.bytes.size()};
    } else {
      pieces[++last] = piece;
    }
  }
  if (!pieces.empty()) pieces.resize(last + 1);
}

}  // namespace

void DiskTier::write_queued() {
  pthread_setname_np(pthread_self(), "winnow-disk");
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty() || ledger_.pending_records() > 0; });
    if (stopping_) break;
    working_ = true;
    std::vector<Queued> batch = next_batch();
    std::uint64_t bytes = 0;
    std::vector<std::pair<DiskKey, std::uint32_t>> chunks;
    for (const Queued& queued : batch) {
      bytes += queued.length;
      chunks.emplace_back(queued.key, queued.chunk);
    }
    lock.unlock();
    write_records();  // who leaves is on record before anyone takes the place
    if (!batch.empty()) write_batch(std::move(batch));
    lock.lock();
    queued_bytes_ -= bytes;
    seen_to_ += chunks.size();
    for (const auto& chunk : chunks) unwritten_.erase(chunk);
    working_ = false;
    note_bytes_on_disk();
    idle_.notify_all();
  }
  lock.unlock();
  write_records();
  idle_.notify_all();
}

std::vector<DiskTier::Queued> DiskTier::next_batch() {
  std::vector<Queued> batch;
  std::uint64_t bytes = 0;
  while (!queue_.empty() && batch.size() < kBatchSlots && bytes + queue_.front().length <= kBatchBytes) {
    bytes += queue_.front().length;
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  removed_.clear();  // from here on, who is removed while being written is noted
  return batch;
}

void DiskTier::write_batch(std::vector<Queued> batch) {
  const std::size_t size = batch.size();
  if (!may_write()) {
    const std::lock_guard lock(mutex_);
    counts_.dropped_writes += size;
    return;
  }
  std::uint64_t bytes = 0;
  const std::uint32_t unit = store_.index.geometry().unit_bytes;
  for (const Queued& queued : batch) bytes += std::uint64_t{slot_units(queued.length, unit)} * unit;
  if (!make_space(bytes)) {
    const std::lock_guard lock(mutex_);
    counts_.dropped_writes += size;
    return;
  }
  std::vector<Planned> planned = plan(std::move(batch));
  write_records();
  const bool written = write_slots(planned);
  {
    const std::lock_guard lock(mutex_);
    for (const Planned& one : planned) {
      const bool unwanted = std::find(removed_.begin(), removed_.end(), one.slot.key) != removed_.end();
      if (written && !unwanted) {
        ledger_.put(one.what.id, one.slot);
        ++counts_.writes;
      } else {
        ledger_.give_up(one.slot.extents);
        counts_.dropped_writes += unwanted ? 0 : 1;
      }
    }
    if (written) note_written();
  }
  write_records();
}

// Of slabs that grew when there were fewer or larger files: a refresh may have brought smaller ones.
void DiskTier::give_back_space() {
  std::uint64_t kept = 0;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t excess = ledger_.excess_bytes();
    if (excess == 0) return;
    kept = ledger_.cut_space(excess);
  }
  write_records();
  store_.slabs.shrink(kept);
}

// Slabs grow by steps while the budget allows, so that the index's share is known before the next one.
bool DiskTier::make_space(std::uint64_t bytes) {
  give_back_space();
  while (true) {
    std::uint64_t allowed = 0;
    {
      const std::lock_guard lock(mutex_);
      if (ledger_.largest_hole_bytes() >= bytes) return true;
      allowed = ledger_.room_to_grow();
    }
    const std::uint64_t step = std::max(2 * bytes, std::min(kGrowBytes, budget_bytes_ / 64));
    const auto grown = store_.slabs.grow(std::min(allowed, step));
    if (!grown) {
      stop_writing("growing", grown.error());
      return false;
    }
    if (grown.value().units == 0) return true;
    const std::lock_guard lock(mutex_);
    ledger_.add_space(grown.value());
  }
}

std::vector<DiskTier::Planned> DiskTier::plan(std::vector<Queued> batch) {
  std::vector<Planned> planned;
  const std::lock_guard lock(mutex_);
  for (Queued& queued : batch) {
    const auto same = [&](const Planned& one) {
      return one.slot.key == queued.key && one.slot.chunk == queued.chunk;
    };
    if (ledger_.find(queued.key, queued.chunk) || std::any_of(planned.begin(), planned.end(), same)) continue;
    const auto extents = ledger_.make_room(queued.id, queued.length);
    if (!extents) continue;
    const Slot slot{.key = queued.key, .chunk = queued.chunk, .length = queued.length, .extents = *extents};
    planned.push_back({std::move(queued), slot});
  }
  return planned;
}

bool DiskTier::write_slots(std::span<Planned> planned) {
  if (planned.empty()) return true;
  const std::size_t unit = store_.index.geometry().unit_bytes;
  std::size_t size = 0;
  for (const Planned& one : planned) size += one.slot.units() * unit;
  if (size > batch_memory_bytes_) {
    batch_memory_ = aligned_bytes(size);
    batch_memory_bytes_ = size;
  }
  std::vector<IoPiece> pieces;
  std::byte* at = batch_memory_.get();
  for (const Planned& one : planned) {
    const std::span<std::byte> slot(at, one.slot.units() * unit);
    const auto body = one.what.bytes.span();
    std::memcpy(at + sizeof(disk_format::SlotHeader), body.data(), body.size());
    seal_slot(slot, one.slot.key, one.slot.chunk, one.slot.length, one.what.version);
    store_.slabs.place(one.slot.extents, at, pieces);
    at += slot.size();
  }
  join(pieces);
  const auto written = store_.io->write(pieces);
  if (!written) stop_writing("writing", written.error());
  return written.has_value();
}

// Compacts instead when most of what the index says is no longer so. overhead_bytes() relies on the rule.
void DiskTier::write_records() {
  std::vector<disk_format::IndexRecord> records;
  bool whole = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_off()) {
      index_is_behind_ |= ledger_.pending_records() > 0;
      ledger_.take_records();
      return;
    }
    const std::uint64_t records_then = store_.index.records() + ledger_.pending_records() + kBatchSlots;
    whole = index_is_behind_ || records_then > DiskLedger::most_records(ledger_.slots());
    records = whole ? ledger_.live_records() : ledger_.take_records();
  }
  const std::uint64_t before = store_.index.bytes();
  const auto written = whole ? store_.index.compact(records) : store_.index.append(records);
  if (!written) stop_writing("writing the index", written.error());
  const std::lock_guard lock(mutex_);
  if (whole) note_bytes_on_disk(before);  // for a moment there were two
  index_is_behind_ = !written;
  if (written && !records.empty()) note_written();
}

bool DiskTier::may_write() const {
  const std::lock_guard lock(mutex_);
  return !is_off();
}

bool DiskTier::is_off() const { return !counts_.why_not_writing.empty() && now_() < retry_at_; }

// One write that fits a hole does not mean that the disk is well: it must go on for a while.
bool DiskTier::is_outage() const {
  if (counts_.why_not_writing.empty()) return false;
  return !well_since_ || now_() < *well_since_ + retry_writing_after_;
}

// Also of a batch of which nothing was wanted: it did not fail, and the next failure would tell.
void DiskTier::note_written() {
  if (!well_since_) well_since_ = now_();
}

void DiskTier::stop_writing(const std::string& doing, const std::error_code& error) {
  const std::lock_guard lock(mutex_);
  ++counts_.write_errors;
  counts_.why_not_writing = doing + " " + directory_ + " failed: " + errno_text(error.value());
  retry_at_ = now_() + retry_writing_after_;
  well_since_.reset();
}

void DiskTier::note_bytes_on_disk(std::uint64_t passing) {
  counts_.bytes_on_disk = ledger_.slab_bytes() + store_.index.bytes();
  counts_.high_water_bytes = std::max(counts_.high_water_bytes, counts_.bytes_on_disk + passing);
}

}  // namespace winnow
