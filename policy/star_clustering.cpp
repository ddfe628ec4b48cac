#include "policy/star_clustering.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "policy/hamming.h"
#include "policy/hash_index.h"

namespace winnow {
namespace {

constexpr std::uint32_t kUngrouped = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kWorthScanning = 512;
constexpr std::size_t kLeastRebuild = 256;

// Positions below are those of the live list: the hashes that were ungrouped when it was last made.
class StarClustering {
 public:
  StarClustering(std::span<const std::uint64_t> hashes, int distance, std::size_t max_group)
      : distance_(distance),
        wanted_(max_group == 0 ? hashes.size() : max_group - 1),
        representative_(hashes.size(), kUngrouped),
        live_hash_(hashes.begin(), hashes.end()),
        live_id_(hashes.size()) {
    for (std::size_t i = 0; i < live_id_.size(); ++i) live_id_[i] = static_cast<std::uint32_t>(i);
    reindex();
  }

  std::vector<std::uint32_t> run() {
    while (true) {
      while (cursor_ < live_id_.size() && grouped(cursor_)) ++cursor_;
      if (cursor_ == live_id_.size()) return std::move(representative_);
      if (live_id_.size() > kLeastRebuild && 2 * ungrouped_ < live_id_.size()) drop_grouped();
      make_star();
    }
  }

 private:
  bool grouped(std::size_t position) const { return representative_[live_id_[position]] != kUngrouped; }

  void make_star() {
    found_.clear();
    const std::uint64_t probe = live_hash_[cursor_];
    if (wanted_ > 0) search(probe);
    const std::uint32_t representative = live_id_[cursor_];
    representative_[representative] = representative;
    for (const std::uint32_t position : found_) representative_[live_id_[position]] = representative;
    ungrouped_ -= 1 + found_.size();
  }

  // Where the tables would name many, the star may be full long before: first go through as many in order.
  // Where that has not paid lately it is tried seldom, so a search costs at most about twice the better way.
  void search(std::uint64_t probe) {
    if (!index_) return scan(probe, live_hash_.size());
    const std::size_t candidates = index_->candidates(probe);
    const bool try_scan = candidates > kWorthScanning && (scan_failures_ < 4 || ++skipped_ % 16 == 0);
    if (try_scan) {
      scan(probe, std::min(live_hash_.size(), cursor_ + 1 + 2 * candidates));
      const bool done = found_.size() == wanted_ || cursor_ + 1 + 2 * candidates >= live_hash_.size();
      scan_failures_ = done ? 0 : scan_failures_ + 1;
      if (done) return;
    }
    look_up(probe);
  }

  void scan(std::uint64_t probe, std::size_t end) {
    const std::span<const std::uint64_t> hashes(live_hash_.data(), end);
    for (std::size_t at = cursor_ + 1; found_.size() < wanted_; ++at) {
      at = first_within(hashes, at, probe, distance_);
      if (at == end) return;
      if (!grouped(at)) found_.push_back(static_cast<std::uint32_t>(at));
    }
  }

  // Buckets are in ascending order and so is found_: once the star is full, a bucket is left at the first
  // entry that comes too late to displace anyone.
  void look_up(std::uint64_t probe) {
    index_->for_each_bucket(probe, [&](auto hashes, auto positions) {
      for (std::size_t at = 0;; ++at) {
        at = first_within(hashes, at, probe, distance_);
        if (at == hashes.size()) return;
        if (found_.size() == wanted_ && positions[at] >= found_.back()) return;
        if (positions[at] > cursor_ && !grouped(positions[at])) add(positions[at]);
      }
    });
  }

  void add(std::uint32_t position) {
    const auto place = std::lower_bound(found_.begin(), found_.end(), position);
    if (place != found_.end() && *place == position) return;
    found_.insert(place, position);
    if (found_.size() > wanted_) found_.pop_back();
  }

  void drop_grouped() {
    std::size_t kept = 0;
    for (std::size_t i = cursor_; i < live_id_.size(); ++i) {
      if (grouped(i)) continue;
      live_hash_[kept] = live_hash_[i];
      live_id_[kept++] = live_id_[i];
    }
    live_hash_.resize(kept);
    live_id_.resize(kept);
    cursor_ = 0;
    reindex();
  }

  void reindex() {
    ungrouped_ = live_id_.size();
    index_.emplace(live_hash_.size(), distance_);
    if (index_->worthwhile()) {
      index_->build(live_hash_);
    } else {
      index_.reset();
    }
  }

  int distance_;
  std::size_t wanted_;  // members beside the representative
  std::vector<std::uint32_t> representative_;
  std::vector<std::uint64_t> live_hash_;
  std::vector<std::uint32_t> live_id_;
  std::size_t cursor_ = 0;
  std::size_t ungrouped_ = 0;
  std::optional<HashIndex> index_;
  std::vector<std::uint32_t> found_;
  unsigned scan_failures_ = 0;
  unsigned skipped_ = 0;
};

}  // namespace

std::vector<std::uint32_t> cluster_stars(std::span<const std::uint64_t> hashes, int max_distance,
                                         std::size_t max_group) {
  return StarClustering(hashes, max_distance, max_group).run();
}

}  // namespace winnow
