// An order in which files will be read, as somebody declared it: which of them is to be fetched next, which were read, and
// when the order is no more. It ends with the last of its files; when those who read it have all ended; and when nothing
// of it was read for long though another job reads. Not thread-safe; the clock comes from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "fs/reader_jobs.h"
#include "policy/paged_array.h"
#include "policy/sample.h"

namespace winnow {

class DeclaredOrder {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kReadersApart = 256;       // how far apart its readers may be
  static constexpr std::size_t kSoon = 64;                // places behind what is near
  static constexpr std::uint64_t kFollowed = 32;          // so many reads show that somebody follows it
  static constexpr std::chrono::minutes kLongestRest{5};  // while another job reads

  DeclaredOrder() = default;  // none
  DeclaredOrder(std::vector<SampleId> order, Clock::time_point now);

  bool is_in_force() const { return left_ > 0; }
  std::uint64_t left() const { return left_; }  // not read yet
  bool contains(SampleId id) const { return place_.get(value(id)) > 0; }
  bool was_read(SampleId id) const { return contains(id) && read_[place_.get(value(id)) - 1]; }

  std::optional<SampleId> next() const;  // to be fetched; nothing if all was
  void pass() { ++next_; }
  bool readers_are_past_next() const { return next_ + kReadersApart < furthest_; }

  // The same for bringing what was fetched near to its readers; it never goes before fetching.
  std::optional<SampleId> next_near() const;
  void pass_near() { ++next_near_; }
  bool readers_are_past_near() const { return next_near_ + kReadersApart < furthest_; }
  bool fetches_near() const { return next_ < next_near_ + kSoon; }  // what is fetched next is read soon

  void note_read(SampleId id, Clock::time_point now);
  void note_reader(SampleId id, int group);  // who it is, where that is seen
  // Where opens are not seen, what was pushed is read without a sign: readers of `id` must have passed these.
  std::vector<SampleId> passed_before(SampleId id);

  bool is_abandoned(const ReaderJobs& jobs, Clock::time_point now, const std::function<bool(int group)>& is_alive);

 private:
  std::vector<SampleId> order_;
  PagedArray<std::uint32_t> place_;  // in it, from 1
  std::vector<bool> read_;
  std::size_t next_ = 0;
  std::size_t next_near_ = 0;
  std::size_t left_ = 0;
  std::size_t furthest_ = 0;  // the last place that was read
  std::size_t until_ = 0;     // all before this place was passed
  std::set<int> followers_;   // groups that read it
  std::uint64_t followed_ = 0;  // reads by them
  Clock::time_point last_read_;
};

}  // namespace winnow
