// What the disk tier holds and what may come in: slots, free space, the samples they belong to, and the
// policies. Touches no file: what is to be remembered comes out as index records, in order. Space is found
// in this order: a hole, several holes, then the policy's victims one after another; where those leave only
// crumbs (a large newcomer among small slots), the neighbours of the largest hole. Nobody leaves unless the
// admission policy lets the newcomer in. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cache/disk/disk_format.h"
#include "cache/disk/slab_files.h"
#include "cache/disk/slot_table.h"
#include "policy/admission.h"
#include "policy/eviction_policy.h"
#include "policy/paged_array.h"

namespace winnow {

class DiskLedger {
 public:
  struct Policies {
    std::unique_ptr<EvictionPolicy> eviction;
    std::unique_ptr<AdmissionPolicy> admission;
  };
  DiskLedger(Policies policies, IndexFile::Geometry geometry, std::uint64_t budget_bytes);

  // An index with more records than this is compacted.
  static std::uint64_t most_records(std::uint64_t slots) { return slots + slots / 4 + 1024; }
  // What the tier needs besides slabs: records live, dead and being compacted, and the filesystem's own.
  static std::uint64_t overhead_bytes(std::uint64_t budget_bytes, std::uint64_t slots);
  static constexpr std::uint64_t kRecordBytesPerSlot = sizeof(disk_format::IndexRecord) * 9 / 4;  // of that

  // At start: every record in order (false if it makes no sense), then what the slabs really have. Slots
  // beyond that, and those that a later one overlaps, are gone.
  bool replay(const disk_format::IndexRecord& record);
  std::uint64_t settle(SlabFiles& slabs);  // how many slots the slabs do not bear out
  void add_space(Region region);
  std::uint64_t room_to_grow() const;  // bytes by which slabs may grow, the index's share of them left out

  // What files there are: how many slots they are of each number of units. The smallest need the most records, and
  // slabs leave room for those; where they have too much already, the end of the last one is to be given back.
  void expect(std::span<const std::uint64_t> slots_by_units);
  std::uint64_t excess_bytes() const;
  std::uint64_t cut_space(std::uint64_t bytes);  // what lies there goes; gives the bytes that slabs keep

  // Room for so many bytes of a sample, or nothing if it is refused. Ends in put() or give_up().
  std::optional<Extents> make_room(SampleId id, std::uint32_t length);
  void put(SampleId id, const Slot& slot);
  void give_up(const Extents& extents);

  std::optional<Slot> find(const DiskKey& key, std::uint32_t chunk) const;
  bool remove(const DiskKey& key, std::uint32_t chunk);
  void touch(SampleId id);
  void set_importance(SampleId id, double importance);
  void begin_epoch();

  // After start and after every refresh: bind() for each file there is; what was not bound is then let go.
  void begin_adoption() { ++generation_; }
  void bind(SampleId id, const DiskKey& key, std::uint32_t chunks);
  std::uint64_t end_adoption();  // how many slots went

  std::vector<disk_format::IndexRecord> take_records();  // since the last call
  std::vector<disk_format::IndexRecord> live_records();  // instead of all records ever; forgets the pending
  std::size_t pending_records() const { return pending_.size(); }

  std::uint64_t slots() const { return table_.size(); }
  std::uint64_t samples() const { return samples_; }
  std::uint64_t bytes(SampleId id) const { return states_.get(value(id)).bytes; }
  std::uint64_t stored_bytes() const { return stored_bytes_; }
  std::uint64_t slab_bytes() const { return slab_bytes_; }
  std::uint64_t free_bytes() const { return pool_.free_units() * geometry_.unit_bytes; }
  std::uint64_t largest_hole_bytes() const {
    return std::uint64_t{pool_.largest().units} * geometry_.unit_bytes;
  }
  std::uint64_t evictions() const { return evictions_; }
  std::uint64_t refused() const { return refused_; }

 private:
  struct SampleState {
    double importance = 1.0;
    std::uint64_t bytes = 0;     // stored
    std::uint32_t read_in = 0;   // the epoch it was last read in
    SlotNumber first = kNoSlot;  // its slots, the youngest first
    bool ranked = false;         // the eviction policy knows it
    bool operator==(const SampleState&) const = default;
  };
  struct Neighbours;

  bool has_room(std::uint32_t units) const;
  CachedFacts facts_of(SampleId id) const;
  void link(SampleId id, SlotNumber number);
  void unlink(SlotNumber number);
  void rank(SampleId id);
  Slot detach(SlotNumber number);  // out of table, pool, sample and policy; no record
  void attach(const Slot& slot);   // back again; the policy is not told
  void drop(SlotNumber number);  // detach, with a record
  void note(disk_format::RecordKind kind, const Slot& slot);
  bool clear_for(SampleId id, std::uint32_t units, std::vector<Slot>& leaving);
  std::vector<Slot> survivors(const SlabFiles& slabs) const;

  const Policies policies_;
  const IndexFile::Geometry geometry_;
  const std::uint64_t budget_bytes_;
  SlotTable table_;
  ExtentPool pool_;
  PagedArray<SampleState> states_;
  std::vector<disk_format::IndexRecord> pending_;
  std::uint64_t slab_bytes_ = 0;
  std::uint64_t stored_bytes_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t planned_ = 0;     // slots between make_room() and put()
  std::uint64_t most_slots_ = 0;  // that the files there are can ever be at once; 0: not known
  std::uint64_t evictions_ = 0;
  std::uint64_t refused_ = 0;
  std::uint32_t generation_ = 0;
  std::uint32_t epoch_ = 1;
};

}  // namespace winnow
