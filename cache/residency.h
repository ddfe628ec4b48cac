// What of the data set is in the kernel's page cache: a ledger of bytes by sample. It is an upper bound,
// since the kernel reclaims pages without telling; correct() mends it from what cachestat saw. When the total
// passes the budget, choose_victims() names the samples to drop, in the order of the eviction policy.
// Thread-safe; no call blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cache/page_counts.h"
#include "policy/eviction_policy.h"
#include "policy/paged_array.h"

namespace winnow {

class Residency {
 public:
  // Takes up what `pages` holds already. `pages` outlives this.
  Residency(std::uint64_t budget_bytes, std::unique_ptr<EvictionPolicy> policy, PageCounts& pages);

  // `bytes` more of a sample whose file has `file_bytes` came into the page cache. True if the budget is
  // passed.
  bool add(SampleId id, std::uint64_t bytes, std::uint64_t file_bytes);
  void touch(SampleId id);                         // it was read; unknown ids are ignored
  void forget(SampleId id) { correct(id, 0); }     // its inode left the kernel, and the pages with it
  void correct(SampleId id, std::uint64_t bytes);  // so much is really there

  // Samples whose dropping brings the total under the budget, with some room. They leave the policy's order,
  // but stay in the total until correct() tells what became of them.
  std::vector<SampleId> choose_victims();

  // Some resident samples, a different part of the ledger each time, for checking.
  std::vector<SampleId> sample(std::size_t count);

  std::uint64_t bytes(SampleId id) const;
  std::uint64_t total_bytes() const;
  std::uint64_t high_water_bytes() const;
  std::uint64_t samples() const;
  std::uint64_t budget_bytes() const { return budget_bytes_; }

 private:
  static constexpr std::uint64_t kPage = 4096;

  void set_pages(SampleId id, std::uint32_t pages);  // with mutex_ held

  const std::uint64_t budget_bytes_;
  mutable std::mutex mutex_;  // guards all below
  const std::unique_ptr<EvictionPolicy> policy_;
  PageCounts& pages_;
  std::uint64_t total_pages_ = 0;
  std::uint64_t dropping_pages_ = 0;  // of victims not yet corrected
  PagedArray<bool> dropping_;
  std::uint64_t high_water_pages_ = 0;
  std::uint64_t samples_ = 0;
  SampleId sample_cursor_{};
};

}  // namespace winnow
