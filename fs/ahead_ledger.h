// Which samples wait in a tier to be read, for whom, and how large they are together. Not thread-safe.
#pragma once

#include <cstdint>

#include "policy/paged_array.h"
#include "policy/sample.h"

namespace winnow {

class AheadLedger {
 public:
  static constexpr unsigned kReaders = 64;  // that can be told apart: 0 to 63

  void add(SampleId id, std::uint64_t bytes, unsigned reader);  // one that waits already waits for this reader too
  bool remove(SampleId id);                                     // it was read; false if it did not wait
  void forget(unsigned reader);                                 // what waited for nobody else waits no more
  bool has(SampleId id) const { return waiting_.get(value(id)).readers != 0; }
  bool waits_for(unsigned reader, SampleId id) const { return (waiting_.get(value(id)).readers >> reader & 1) != 0; }

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t files() const { return files_; }

 private:
  struct Waiting {
    std::uint64_t bytes = 0;
    std::uint64_t readers = 0;  // a bit for each
    bool operator==(const Waiting&) const = default;
  };

  PagedArray<Waiting> waiting_;
  std::uint64_t bytes_ = 0;
  std::uint64_t files_ = 0;
};

}  // namespace winnow
