// What a sweep has still to fetch, in the order of sweep_order(): the most important first, of equals the smallest,
// then by id. For samples that come to be known little by little, while others are fetched already. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "policy/sample.h"

namespace winnow {

class SweepQueue {
 public:
  void add(SampleId id, double importance, std::uint64_t bytes) {
    waiting_.push_back({importance, bytes, id});
    std::push_heap(waiting_.begin(), waiting_.end(), comes_later);
  }
  SampleId first() const { return waiting_.front().id; }  // of one that is not empty
  void pop() {
    std::pop_heap(waiting_.begin(), waiting_.end(), comes_later);
    waiting_.pop_back();
  }
  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Sample {
    double importance;
    std::uint64_t bytes;
    SampleId id;
  };
  static bool comes_later(const Sample& a, const Sample& b) {
    return a.importance != b.importance ? a.importance < b.importance
                                        : std::tie(a.bytes, a.id) > std::tie(b.bytes, b.id);
  }

  std::vector<Sample> waiting_;
};

}  // namespace winnow
