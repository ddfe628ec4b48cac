// Samples on a local disk, kept over restarts, within a hard budget of bytes. A miss is a value, and so is
// whatever the disk does wrong: a slot that is torn, flipped, cut off or unreadable is a miss, counted, never
// served. Files are kept by chunks of 1 MiB, each checked as a whole, so a range costs the chunks it touches.
// Thread-safe. read() blocks for the disk; write() only queues, and one thread writes; nothing else waits.
//
// Writing that fails (disk full, I/O error) is turned off and tried again after a while; reads go on. The
// outage is over when writing has gone well for as long again. A slot that cannot be read twice is let go.
// Nothing is forced to disk: a killed process loses what was queued, a power cut also what the disk had not
// yet kept, and both are misses afterwards.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cache/byte_tier.h"
#include "cache/bytes.h"
#include "cache/disk/disk_ledger.h"
#include "cache/disk/disk_store.h"
#include "cache/file_ref.h"

namespace winnow {

struct DiskOptions {
  DiskStore::Options store;  // where, how much, of which source
  std::unique_ptr<EvictionPolicy> eviction;
  std::unique_ptr<AdmissionPolicy> admission;
  std::uint64_t queue_bytes = 64 << 20;  // waiting to be written; more is dropped
  std::chrono::milliseconds retry_writing_after{60'000};
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  std::unique_ptr<BlockIo> io;  // empty: io_uring if it is permitted
};

struct DiskCounts {
  std::uint64_t samples = 0;
  std::uint64_t bytes_stored = 0;   // of samples
  std::uint64_t bytes_on_disk = 0;  // of files: slabs and index
  std::uint64_t high_water_bytes = 0;
  std::uint64_t budget_bytes = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t writes = 0;       // chunks
  std::uint64_t torn = 0;         // slots that did not check out
  std::uint64_t bad_records = 0;  // of the index, at start
  std::uint64_t read_errors = 0;
  std::uint64_t write_errors = 0;
  std::uint64_t dropped_writes = 0;  // chunks: the queue was full, or writing was off
  std::uint64_t evictions = 0;       // samples
  std::uint64_t refused = 0;         // chunks, by the admission policy
  std::uint64_t outdated = 0;        // chunks let go because their file changed or went
  std::uint64_t queued_bytes = 0;
  std::uint64_t room_bytes = 0;  // for slots, before anybody has to leave
  bool writing = true;           // no failure stands in the way, or what came since was written
  bool may_write = true;         // what comes now is tried: a while after a failure, that is how its end is found
  std::string why_not_writing;   // the last failure, in one sentence; stays until the outage is over
  std::string io_notice;        // why it is not io_uring with O_DIRECT; empty if it is
};

class DiskTier final : public ByteTier {
 public:
  // Makes the directory or takes up what is there; throws StartupError. Until the first adopt(), what is
  // there is served but nothing can leave for a newcomer.
  explicit DiskTier(DiskOptions options);
  ~DiskTier() override;  // writes what is queued, for some seconds; what is left then is dropped

  // Cut off at the file's end. What is still to be written is there already.
  std::optional<Bytes> read(const FileRef& file, std::uint64_t offset, std::uint64_t size) override;
  std::optional<Bytes> read(const FileRef& file) { return read(file, 0, file.version.size); }
  std::vector<std::optional<Bytes>> read_each(std::span<const FileRef> files) override;  // small ones together
  std::uint64_t held_from(const FileRef& file, std::uint64_t offset, std::uint64_t size) const override;
  std::uint64_t piece_bytes() const override { return disk_format::kChunkBytes; }
  bool contains(const FileRef& file) const {  // all of it
    return held_from(file, 0, file.version.size) == file.version.size;
  }

  // `bytes` of the file from `offset` on. Of a file that is not whole, the chunks that are complete are kept.
  void write(const FileRef& file, std::uint64_t offset, const Bytes& bytes) override;
  void remove(const FileRef& file);

  void touch(SampleId id) override;  // read() is no such sign, since a sweep may be reading
  void set_importance(SampleId id, double importance);  // also of samples not stored (yet)
  void begin_epoch();

  // After start and after every refresh. `each_file` calls what it is given once for every file there is;
  // slots of other files and other versions are let go, the rest belong to the ids given.
  using FileVisit = std::function<void(SampleId, std::string_view path, const Version&)>;
  void adopt(const std::function<void(const FileVisit&)>& each_file);

  std::uint64_t stored_bytes(SampleId id) const;
  // What a file of so many bytes takes of the budget, in slots and records; and how much there is for all of them.
  std::uint64_t bytes_taken_by(std::uint64_t file_bytes) const;
  std::uint64_t capacity_bytes() const;
  DiskCounts counts() const;
  // Waits until all that was queued before is written or dropped; false if that took longer.
  bool flush(std::chrono::milliseconds patience = std::chrono::hours(24));

 private:
  struct Queued {
    SampleId id;
    DiskKey key;
    std::uint32_t chunk;
    std::uint32_t length;
    Version version;
    Bytes bytes;
  };
  struct Planned {
    Queued what;
    Slot slot;
  };

  // A chunk as it is known: where it lies, or, if it is still to be written, its bytes.
  struct Found {
    std::optional<Slot> slot;
    Bytes bytes;
  };
  std::optional<Found> find_chunk(const FileRef& file, const DiskKey& key, std::uint32_t chunk) const;  // with mutex_ held
  bool read_slots(const FileRef& file, const DiskKey& key, std::span<const Slot> slots,
                  std::vector<Bytes>& bodies);
  void forget_torn(const Slot& slot);
  void note_unreadable(std::span<const Slot> slots);
  bool can_read(const Slot& slot);
  bool forget(const Slot& slot);  // with mutex_ held; false if it left meanwhile

  void write_queued();               // the thread
  std::vector<Queued> next_batch();  // with mutex_ held
  void write_batch(std::vector<Queued> batch);
  bool make_space(std::uint64_t bytes);
  void give_back_space();
  std::vector<Planned> plan(std::vector<Queued> batch);
  bool write_slots(std::span<Planned> planned);
  void write_records();
  bool may_write() const;
  bool is_off() const;              // with mutex_ held: not written to, until retry_at_
  bool is_outage() const;           // with mutex_ held
  void note_written();              // with mutex_ held: a batch went through
  void stop_writing(const std::string& doing, const std::error_code& error);
  void note_bytes_on_disk(std::uint64_t passing = 0);  // with mutex_ held

  const std::string directory_;
  const std::uint64_t budget_bytes_;
  const std::uint64_t queue_bytes_;
  const std::chrono::milliseconds retry_writing_after_;
  const std::function<std::chrono::steady_clock::time_point()> now_;

  DiskStore store_;  // once started: index and growing slabs are the writing thread's alone
  std::shared_ptr<std::byte[]> batch_memory_;  // the writing thread's
  std::size_t batch_memory_bytes_ = 0;         // the writing thread's

  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> misses_{0};
  std::atomic<std::uint64_t> read_errors_{0};

  mutable std::mutex mutex_;  // guards all below; never held while the disk works
  std::condition_variable wake_;
  std::condition_variable idle_;
  DiskLedger ledger_;
  std::deque<Queued> queue_;
  std::map<std::pair<DiskKey, std::uint32_t>, Bytes> unwritten_;  // by key and chunk: in queue_ or being written
  std::uint64_t queued_bytes_ = 0;  // of them
  std::uint64_t taken_in_ = 0;      // chunks ever queued
  std::uint64_t seen_to_ = 0;       // of them: written, dropped or removed; what was queued first is first
  std::vector<DiskKey> removed_;    // since the batch being written was taken
  std::set<std::pair<DiskKey, std::uint32_t>> unreadable_;  // slots that could not be read once
  DiskCounts counts_;               // those not told by others; why_not_writing stays after the outage
  std::chrono::steady_clock::time_point retry_at_{};
  std::optional<std::chrono::steady_clock::time_point> well_since_;  // the last failure, if anything was since
  bool index_is_behind_ = false;  // records were lost: the next ones must be the whole index
  bool working_ = false;
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace winnow
