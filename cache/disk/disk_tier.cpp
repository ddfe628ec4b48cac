#include "cache/disk/disk_tier.h"

#include <algorithm>
#include <cstring>

namespace winnow {

using disk_format::kChunkBytes;

namespace {

std::uint32_t chunks_of(std::uint64_t size) {
  return static_cast<std::uint32_t>((size + kChunkBytes - 1) / kChunkBytes);
}

std::uint32_t chunk_length(std::uint64_t file_size, std::uint32_t chunk) {
  return static_cast<std::uint32_t>(std::min(kChunkBytes, file_size - chunk * kChunkBytes));
}

constexpr std::chrono::seconds kLastWrites{5};

}  // namespace

DiskTier::DiskTier(DiskOptions options)
    : directory_(options.store.directory),
      budget_bytes_(options.store.budget_bytes),
      queue_bytes_(options.queue_bytes),
      retry_writing_after_(options.retry_writing_after),
      now_(std::move(options.now)),
      store_(options.store, std::move(options.io)),
      ledger_({std::move(options.eviction), std::move(options.admission)}, store_.index.geometry(),
              budget_bytes_) {
  std::uint64_t senseless = 0;
  const IndexFile::Replayed replayed = store_.index.replay(
      [&](const disk_format::IndexRecord& record) { senseless += ledger_.replay(record) ? 0 : 1; });
  counts_.bad_records = replayed.bad_records + senseless + (replayed.started_over ? 1 : 0);
  counts_.torn = ledger_.settle(store_.slabs);
  index_is_behind_ = counts_.bad_records > 0;  // what was bad is told once, and written anew without it
  write_records();
  note_bytes_on_disk();
  writer_ = std::thread([this] { write_queued(); });
}

DiskTier::~DiskTier() {
  flush(kLastWrites);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
    unwritten_.clear();
  }
  wake_.notify_all();
  writer_.join();
}

std::optional<Bytes> DiskTier::read(const FileRef& file, std::uint64_t offset, std::uint64_t size) {
  if (offset >= file.version.size || size == 0) return Bytes{};
  size = std::min(size, file.version.size - offset);
  const DiskKey key = disk_key(file.path, file.version);
  const auto first = static_cast<std::uint32_t>(offset / kChunkBytes);
  const auto last = static_cast<std::uint32_t>((offset + size - 1) / kChunkBytes);
  std::vector<Found> found;
  std::vector<Slot> slots;
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t chunk = first; chunk <= last; ++chunk) {
      auto one = find_chunk(file, key, chunk);
      if (!one) break;
      if (one->slot) slots.push_back(*one->slot);
      found.push_back(std::move(*one));
    }
  }
  std::vector<Bytes> on_disk;
  if (found.size() != std::size_t{last} - first + 1 || !read_slots(file, key, slots, on_disk)) {
    ++misses_;
    return std::nullopt;
  }
  ++hits_;
  std::vector<Bytes> bodies;
  auto next = on_disk.begin();
  for (Found& one : found) bodies.push_back(std::move(one.slot ? *next++ : one.bytes));
  const std::uint64_t skip = offset - first * kChunkBytes;
  if (bodies.size() == 1) return bodies.front().part(skip, size);
  const std::shared_ptr<std::byte[]> whole(new std::byte[size]);
  for (std::size_t i = 0, done = 0; i < bodies.size(); ++i) {
    const Bytes part = bodies[i].part(i == 0 ? skip : 0, size - done);
    std::memcpy(whole.get() + done, part.span().data(), part.size());
    done += part.size();
    bodies[i] = {};
  }
  return Bytes(whole, size);
}

std::vector<std::optional<Bytes>> DiskTier::read_each(std::span<const FileRef> files) {
  struct Placed {
    std::size_t file;
    Slot slot;
    std::shared_ptr<std::byte[]> memory;
  };
  std::vector<Placed> placed;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (chunks_of(files[i].version.size) != 1) continue;
      const auto found = find_chunk(files[i], disk_key(files[i].path, files[i].version), 0);
      if (found && found->slot) placed.push_back({i, *found->slot, nullptr});
    }
  }
  const std::size_t unit = store_.index.geometry().unit_bytes;
  std::vector<IoPiece> pieces;
  for (Placed& one : placed) {
    one.memory = aligned_bytes(one.slot.units() * unit);
    store_.slabs.place(one.slot.extents, one.memory.get(), pieces);
  }
  std::vector<std::optional<Bytes>> bodies(files.size());
  if (!pieces.empty() && store_.io->read(pieces)) {
    for (const Placed& one : placed) {
      const std::span<const std::byte> all(one.memory.get(), one.slot.units() * unit);
      const auto body = open_slot(all, one.slot.key, one.slot.chunk, one.slot.length, files[one.file].version);
      if (!body) continue;
      ++hits_;
      bodies[one.file] = Bytes(std::shared_ptr<const std::byte[]>(one.memory, body->data()), body->size());
    }
  }
  // What did not check out, is still to be written, or lies in several chunks.
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!bodies[i]) bodies[i] = read(files[i]);
  }
  return bodies;
}

std::optional<DiskTier::Found> DiskTier::find_chunk(const FileRef& file, const DiskKey& key,
                                                    std::uint32_t chunk) const {
  if (const auto slot = ledger_.find(key, chunk)) {
    if (slot->length != chunk_length(file.version.size, chunk)) return std::nullopt;
    return Found{*slot, {}};
  }
  const auto waiting = unwritten_.find({key, chunk});
  if (waiting == unwritten_.end()) return std::nullopt;
  return Found{std::nullopt, waiting->second};
}

bool DiskTier::read_slots(const FileRef& file, const DiskKey& key, std::span<const Slot> slots,
                          std::vector<Bytes>& bodies) {
  std::vector<std::shared_ptr<std::byte[]>> memory;
  std::vector<IoPiece> pieces;
  const std::size_t unit = store_.index.geometry().unit_bytes;
  for (const Slot& slot : slots) {
    memory.push_back(aligned_bytes(slot.units() * unit));
    store_.slabs.place(slot.extents, memory.back().get(), pieces);
  }
  if (slots.empty()) return true;
  // Twice: a slot may have left, and come back to the same place, while it was being read.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (const auto done = store_.io->read(pieces); !done) {
      ++read_errors_;
      note_unreadable(slots);
      return false;
    }
    bodies.clear();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Slot& slot = slots[i];
      const std::span<const std::byte> all(memory[i].get(), slot.units() * unit);
      const auto body = open_slot(all, key, slot.chunk, slot.length, file.version);
      if (!body) break;
      bodies.emplace_back(std::shared_ptr<const std::byte[]>(memory[i], body->data()), body->size());
    }
    if (bodies.size() == slots.size()) return true;
  }
  forget_torn(slots[bodies.size()]);
  return false;
}

void DiskTier::forget_torn(const Slot& slot) {
  const std::lock_guard lock(mutex_);
  counts_.torn += forget(slot) ? 1 : 0;
}

bool DiskTier::forget(const Slot& slot) {
  const auto now = ledger_.find(slot.key, slot.chunk);
  if (!now || now->extents != slot.extents) return false;  // an ordinary miss
  ledger_.remove(slot.key, slot.chunk);
  wake_.notify_one();
  return true;
}

// A disk may fail once for a reason that passes. A slot that fails again would be held, and missed, for ever.
void DiskTier::note_unreadable(std::span<const Slot> slots) {
  for (const Slot& slot : slots) {
    if (slots.size() > 1 && can_read(slot)) continue;
    const std::lock_guard lock(mutex_);
    const std::pair place(slot.key, slot.chunk);
    if (unreadable_.insert(place).second) continue;
    unreadable_.erase(place);
    forget(slot);
  }
}

bool DiskTier::can_read(const Slot& slot) {
  const auto memory = aligned_bytes(slot.units() * store_.index.geometry().unit_bytes);
  std::vector<IoPiece> pieces;
  store_.slabs.place(slot.extents, memory.get(), pieces);
  return store_.io->read(pieces).has_value();
}

std::uint64_t DiskTier::held_from(const FileRef& file, std::uint64_t offset, std::uint64_t size) const {
  const DiskKey key = disk_key(file.path, file.version);
  const std::uint64_t end = std::min(offset + size, file.version.size);
  std::uint64_t at = offset;
  const std::lock_guard lock(mutex_);
  while (at < end && find_chunk(file, key, static_cast<std::uint32_t>(at / kChunkBytes)))
    at = std::min(end, (at / kChunkBytes + 1) * kChunkBytes);
  return at - offset;
}

void DiskTier::write(const FileRef& file, std::uint64_t offset, const Bytes& bytes) {
  const DiskKey key = disk_key(file.path, file.version);
  const std::uint64_t end = std::min(file.version.size, offset + bytes.size());
  const std::lock_guard lock(mutex_);
  for (auto chunk = chunks_of(offset); std::uint64_t{chunk} * kChunkBytes < end; ++chunk) {
    const std::uint64_t at = std::uint64_t{chunk} * kChunkBytes;
    const std::uint32_t length = chunk_length(file.version.size, chunk);
    if (at + length > end) break;
    if (ledger_.find(key, chunk) || unwritten_.contains({key, chunk})) continue;
    if (queued_bytes_ + length > queue_bytes_) {
      ++counts_.dropped_writes;
      continue;
    }
    queued_bytes_ += length;
    ++taken_in_;
    queue_.push_back({file.id, key, chunk, length, file.version, bytes.part(at - offset, length)});
    unwritten_[{key, chunk}] = queue_.back().bytes;
  }
  if (!queue_.empty()) wake_.notify_one();
}

void DiskTier::remove(const FileRef& file) {
  const DiskKey key = disk_key(file.path, file.version);
  const std::lock_guard lock(mutex_);
  for (std::uint32_t chunk = 0; chunk < chunks_of(file.version.size); ++chunk) ledger_.remove(key, chunk);
  std::erase_if(queue_, [&](const Queued& queued) {
    if (queued.key != key) return false;
    queued_bytes_ -= queued.length;
    ++seen_to_;
    return true;
  });
  for (auto at = unwritten_.lower_bound({key, 0}); at != unwritten_.end() && at->first.first == key;)
    at = unwritten_.erase(at);
  if (working_) removed_.push_back(key);
  wake_.notify_one();
}

void DiskTier::touch(SampleId id) {
  const std::lock_guard lock(mutex_);
  ledger_.touch(id);
}

void DiskTier::set_importance(SampleId id, double importance) {
  const std::lock_guard lock(mutex_);
  ledger_.set_importance(id, importance);
}

void DiskTier::begin_epoch() {
  const std::lock_guard lock(mutex_);
  ledger_.begin_epoch();
}

void DiskTier::adopt(const std::function<void(const FileVisit&)>& each_file) {
  {
    const std::lock_guard lock(mutex_);
    ledger_.begin_adoption();
  }
  const std::uint32_t unit = store_.index.geometry().unit_bytes;
  const std::uint32_t whole = slot_units(kChunkBytes, unit);
  std::vector<std::uint64_t> slots(whole + 1);
  each_file([&](SampleId id, std::string_view path, const Version& version) {
    const auto rest = static_cast<std::uint32_t>(version.size % kChunkBytes);
    slots[whole] += version.size / kChunkBytes;
    if (rest > 0) ++slots[slot_units(rest, unit)];
    const DiskKey key = disk_key(path, version);
    const std::lock_guard lock(mutex_);
    ledger_.bind(id, key, chunks_of(version.size));
  });
  const std::lock_guard lock(mutex_);
  counts_.outdated += ledger_.end_adoption();
  ledger_.expect(slots);
  wake_.notify_one();
}

std::uint64_t DiskTier::stored_bytes(SampleId id) const {
  const std::lock_guard lock(mutex_);
  return ledger_.bytes(id);
}

std::uint64_t DiskTier::bytes_taken_by(std::uint64_t file_bytes) const {
  const std::uint32_t unit = store_.index.geometry().unit_bytes;
  const std::uint64_t whole_chunks = file_bytes / kChunkBytes;
  const auto rest = static_cast<std::uint32_t>(file_bytes % kChunkBytes);
  std::uint64_t units = whole_chunks * slot_units(kChunkBytes, unit);
  if (rest > 0) units += slot_units(rest, unit);
  return units * unit + chunks_of(file_bytes) * DiskLedger::kRecordBytesPerSlot;
}

std::uint64_t DiskTier::capacity_bytes() const {
  return budget_bytes_ - std::min(budget_bytes_, DiskLedger::overhead_bytes(budget_bytes_, 0));
}

DiskCounts DiskTier::counts() const {
  const std::lock_guard lock(mutex_);
  DiskCounts counts = counts_;
  counts.samples = ledger_.samples();
  counts.bytes_stored = ledger_.stored_bytes();
  counts.budget_bytes = budget_bytes_;
  counts.hits = hits_;
  counts.misses = misses_;
  counts.read_errors = read_errors_;
  counts.evictions = ledger_.evictions();
  counts.refused = ledger_.refused();
  counts.queued_bytes = queued_bytes_;
  counts.room_bytes = ledger_.free_bytes() + ledger_.room_to_grow();
  if (!is_outage()) counts.why_not_writing.clear();
  counts.writing = !is_outage() || well_since_;
  counts.may_write = !is_off();
  counts.io_notice = store_.io_notice;
  return counts;
}

bool DiskTier::flush(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const std::uint64_t until = taken_in_;
  const bool is_waiting = seen_to_ < until;
  return idle_.wait_for(lock, patience, [&] {
    const bool idle = queue_.empty() && !working_ && ledger_.pending_records() == 0;
    return stopping_ || idle || (is_waiting && seen_to_ >= until);  // more may be coming in all the time
  });
}

}  // namespace winnow
