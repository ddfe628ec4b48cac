// Recognises the epochs of one job from the samples it reads: an epoch reads each sample once, so it ends when as many
// as in the last one were read, or when samples read long before in the same epoch come again: nearly every read, or, of
// a part of the data set that is dealt anew each epoch (one rank of several), about as many as chance has it.
// Whoever reads in the order of names or of listings (a backup, an indexer) is no job until it comes a second time.
// Two reads of a sample in quick succession count as one. Knows ids only. Not thread-safe.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

#include "policy/paged_array.h"
#include "policy/sample.h"

namespace winnow {

class EpochWatch {
 public:
  enum class Seen { kNothing, kJob, kEpochEnd };

  // `samples`: how many there are to read at most.
  explicit EpochWatch(std::uint64_t samples) : samples_(samples) {}

  // Where it stands in either order, against the read before it by the same reader.
  struct Step {
    bool behind_by_name = false;
    bool behind_by_listing = false;
  };
  // Says what this read shows: that the reader is a job, whose first epoch this is, or that an epoch has ended and
  // the next one begun. A reader's first read has no step, and tells nothing of its order.
  Seen on_read(SampleId id, std::optional<Step> step);

  bool is_job() const { return is_job_; }
  std::uint64_t epoch() const { return epoch_; }  // from 1
  std::uint64_t reads() const { return reads_; }  // of different samples, this epoch
  bool has_read(SampleId id) const { return last_read_.get(value(id)) > begin_; }  // this epoch
  // It may be one of several that share the data set: always so in the first epoch, and while parts differ.
  bool may_be_part() const { return epoch_ == 1 || parts_differ_; }
  // Whether this epoch will read it, as far as the one before tells.
  bool expects(SampleId id) const { return may_be_part() || last_read_.get(value(id)) > begin_before_; }

 private:
  static constexpr std::size_t kWindow = 128;      // reads that are judged together
  static constexpr std::size_t kLast = 32;         // the last of them
  static constexpr std::size_t kMostlyAgain = 24;  // of the last
  static constexpr std::size_t kFewAgain = 4;      // of all
  static constexpr std::uint64_t kStrays = 2;      // samples that even a clean epoch may read twice
  static constexpr std::size_t kRecent = 512;
  static constexpr std::size_t kSteps = 32;        // reads that tell a job from a walker
  static constexpr std::size_t kMostlyInOrder = 24;

  bool is_again(std::uint64_t before) const;
  void judge_cleanness();
  std::size_t begun_anew() const;
  std::uint64_t different_since(std::uint64_t begin) const;
  Seen end_epoch(std::size_t back);
  bool shows_job();

  const std::uint64_t samples_;
  bool is_job_ = false;
  std::uint64_t epoch_ = 1;
  std::uint64_t clock_ = 0;         // counts reads; the first is 1
  std::uint64_t begin_ = 0;         // the last read before this epoch
  std::uint64_t begin_before_ = 0;  // the same of the epoch before
  std::uint64_t reads_ = 0;
  std::uint64_t repeats_ = 0;  // this epoch, of samples read long before in it
  std::uint64_t steps_ = 0;
  bool is_judged_ = false;
  bool is_clean_ = false;  // it read for long without reading anything twice
  std::uint64_t expected_ = 0;   // reads of the epoch before
  std::uint64_t surprises_ = 0;  // reads of samples that were not expected
  bool parts_differ_ = false;    // from epoch to epoch
  PagedArray<std::uint64_t> last_read_;  // by the clock; 0: never
  std::bitset<kWindow> again_;           // of the last reads, bit 0 the latest
  std::bitset<kSteps> by_name_;
  std::bitset<kSteps> by_listing_;
  std::array<SampleId, kRecent> recent_{};  // a ring
  std::uint64_t recent_count_ = 0;
};

}  // namespace winnow
