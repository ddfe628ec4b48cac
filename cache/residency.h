// What of the data set is in the kernel's page cache: a ledger of bytes by sample. It is an upper bound,
// since the kernel reclaims pages without telling; correct() mends it from what cachestat saw. When the total
// passes the budget, choose_victims() names the samples to drop, in the order of the eviction policy.
// Thread-safe; no call blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cache/page_counts.h"
#include "policy/eviction_policy.h"
#include "policy/paged_array.h"

namespace winnow {

class Residency {
 public:
  // Takes up what `pages` holds already. `pages` outlives this.
  Residency(std::uint64_t budget_bytes, std::unique_ptr<EvictionPolicy> policy, PageCounts& pages);

  // `bytes` more of a sample whose file has `file_bytes` came into the page cache: for a reader, or ahead of one.
  // True if the budget is passed.
  bool add(SampleId id, std::uint64_t bytes, std::uint64_t file_bytes, bool ahead = false);
  void touch(SampleId id);                         // it was read
  void set_importance(SampleId id, double importance);  // also of samples that are not there (yet)
  void begin_epoch();                              // nothing is read yet
  void forget(SampleId id) { correct(id, 0); }     // its inode left the kernel, and the pages with it
  void correct(SampleId id, std::uint64_t bytes);  // so much is really there

  // Samples whose dropping brings the total under the budget, with some room. They leave the policy's order,
  // but stay in the total until correct() tells what became of them.
  std::vector<SampleId> choose_victims();

  // Some resident samples, a different part of the ledger each time, for checking.
  std::vector<SampleId> sample(std::size_t count);

  // Whether so much may come in ahead of its reader: what waits to be read must not drive out what waits already.
  bool has_room_ahead(std::uint64_t bytes) const;
  static std::uint64_t most_ahead(std::uint64_t budget_bytes);  // it never has more room than this

  bool is_over_budget() const;
  std::uint64_t bytes(SampleId id) const;
  std::uint64_t total_bytes() const;
  std::uint64_t high_water_bytes() const;
  std::uint64_t samples() const;
  std::uint64_t budget_bytes() const { return budget_bytes_; }

 private:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kLeastForReaders = 4 << 20, kEnoughForReaders = 16 << 20;
  static constexpr std::uint64_t kReadersAtOnce = 32;
  static constexpr std::uint64_t kLeastRoom = 512 << 10;  // made at a time
  static constexpr std::uint64_t kLeastForPassing = 4 << 20;
  struct Importance {
    double value = 1.0;  // also of a sample without a score
    bool operator==(const Importance&) const = default;
  };

  // With mutex_ held:
  void set_pages(SampleId id, std::uint32_t pages);
  void note_read(SampleId id);
  CachedFacts facts(SampleId id, std::uint64_t pages) const;
  std::optional<SampleId> next_victim();
  bool is_over() const;
  std::uint64_t room_for_passing() const;
  std::uint64_t room_for_readers() const;
  static std::uint64_t room_at_a_time(std::uint64_t budget_bytes);  // made when the budget is passed

  const std::uint64_t budget_bytes_;
  mutable std::mutex mutex_;  // guards all below
  const std::unique_ptr<EvictionPolicy> policy_;
  EpochEviction* const by_epoch_;  // the same, if it tells read samples from unread ones; else null
  PageCounts& pages_;
  PagedArray<Importance> importance_;
  PagedArray<std::uint32_t> read_in_;  // the epoch; 0: none
  PagedArray<std::uint32_t> ahead_;    // pages that came ahead of their reader and were not read yet
  std::deque<SampleId> newcomers_;     // since the budget was nearly used up, under a policy by which nobody leaves
  std::uint64_t ahead_pages_ = 0;
  std::uint64_t largest_read_ = 0;  // file, of this epoch
  std::uint64_t largest_read_before_ = 0;
  std::uint32_t epoch_ = 1;
  std::uint64_t total_pages_ = 0;
  std::uint64_t dropping_pages_ = 0;  // of victims not yet corrected
  PagedArray<bool> dropping_;
  std::uint64_t high_water_pages_ = 0;
  std::uint64_t samples_ = 0;
  SampleId sample_cursor_{};
};

}  // namespace winnow
