// Recognises the epochs of one job from the samples it reads. An epoch reads each sample once, so it ends when all
// that the one before read have been read, and little else; or when samples read long before in it come again:
// nearly every read, or, of a part of the data set that is dealt anew each epoch (one rank of several), about as
// many as chance has it. Once as many were read as in the one before, less of that is enough. The number alone
// ends no epoch: the one before may have been seen only in part (the watch began in its middle; a few batches were
// read to try them), and then samples go on to come that are new. What an epoch reads is learned anew from each,
// so that two real epochs after such a part the count and the beginnings are right.
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
  // It may be one of several that share the data set: always so in the first epoch, and in any that reads much that
  // the one before did not.
  bool may_be_part() const { return epoch_ == 1 || parts_differ_; }
  // Whether this epoch will read it, as far as the one before tells.
  bool expects(SampleId id) const { return may_be_part() || last_read_.get(value(id)) > begin_before_; }

 private:
  // That a new epoch has begun: the logarithm of how much likelier the last reads are then (a CUSUM test).
  struct Evidence {
    void weigh(bool again, double share_anew, double share_else, std::uint64_t now);
    double sum = 0;
    std::uint64_t from = 0;   // where it began if so: the last read without any evidence
    std::uint64_t fresh = 0;  // reads since then of samples that the old epoch had not read
  };
  static constexpr double kSure = 12;          // six samples by chance, in a row
  static constexpr double kLikely = 4;         // two; once as many were read as in the epoch before
  static constexpr double kFewer = 8;          // times fewer samples come again by accident than by chance
  static constexpr double kMostly = 0.9;       // of the reads, in a new epoch
  static constexpr double kOften = 0.5;        // of the reads of one who draws with replacement
  static constexpr std::uint64_t kStrays = 2;  // samples that even a clean epoch may read twice
  static constexpr std::size_t kRecent = 512;
  static constexpr std::size_t kSteps = 32;  // reads that tell a job from a walker
  static constexpr std::size_t kMostlyInOrder = 24;

  bool is_again(std::uint64_t before) const;
  void judge_cleanness();
  void judge_parts();
  void weigh(bool again);
  const Evidence* begun_anew() const;
  bool has_read_all() const;
  std::uint64_t different_since(std::uint64_t begin) const;
  Seen end_epoch(std::uint64_t begin, std::uint64_t fresh);
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
  bool is_clean_ = false;         // it read for long without reading anything twice
  std::uint64_t clean_from_ = 0;  // nothing read after this has come again
  Evidence by_chance_;            // samples come again as often as chance has it
  Evidence mostly_;               // nearly every read is of one that comes again
  std::uint64_t expected_ = 0;    // reads of the epoch before
  std::uint64_t surprises_ = 0;   // reads of samples that were not expected
  bool parts_differ_ = false;     // this epoch's from that of the one before
  PagedArray<std::uint64_t> last_read_;  // by the clock; 0: never
  std::bitset<kSteps> by_name_;
  std::bitset<kSteps> by_listing_;
  std::array<SampleId, kRecent> recent_{};  // a ring
  std::uint64_t recent_count_ = 0;
};

}  // namespace winnow
