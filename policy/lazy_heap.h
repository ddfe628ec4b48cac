// A priority queue whose entries are not taken out when they cease to count: the owner says which still do,
// and those that do not are dropped when they come first, or all at once when they are the most. Cheaper than
// an ordered set where many entries change and few are asked for. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace winnow {

// `Later(a, b)`: b comes before a.
template <typename Entry, typename Later>
class LazyHeap {
 public:
  // `counting`: how many entries count, this one included.
  template <typename Counts>
  void push(const Entry& entry, std::size_t counting, const Counts& counts) {
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), Later{});
    if (entries_.size() > 2 * counting + kFew) keep(counts);
  }

  // Null if none counts.
  template <typename Counts>
  const Entry* first(const Counts& counts) {
    while (!entries_.empty() && !counts(entries_.front())) {
      std::pop_heap(entries_.begin(), entries_.end(), Later{});
      entries_.pop_back();
    }
    return entries_.empty() ? nullptr : &entries_.front();
  }

  // Takes over all entries of another that count.
  template <typename Counts>
  void merge(LazyHeap& other, const Counts& counts) {
    entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
    other.entries_.clear();
    keep(counts);
  }

 private:
  static constexpr std::size_t kFew = 64;

  template <typename Counts>
  void keep(const Counts& counts) {
    std::erase_if(entries_, [&](const Entry& entry) { return !counts(entry); });
    std::make_heap(entries_.begin(), entries_.end(), Later{});
  }

  std::vector<Entry> entries_;
};

}  // namespace winnow
