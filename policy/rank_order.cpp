#include "policy/rank_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

namespace winnow {
namespace {

// Digits of eight bits: with more, the places written to no longer fit the processor's page tables at once.
constexpr int kDigitBits = 8;
constexpr int kDigits = 4;
constexpr int kLeadingShift = 64 - kDigits * kDigitBits;
constexpr std::size_t kDigitValues = std::size_t{1} << kDigitBits;

struct Entry {
  std::uint64_t key;
  Index index;
};

// Ascending keys are descending numbers.
std::uint64_t descending_key(double value) {
  if (value != value) return 0;
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  const std::uint64_t ascending = bits ^ ((bits >> 63) ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
  return ~ascending;
}

std::size_t digit(std::uint64_t key, int place) {
  return (key >> (kLeadingShift + place * kDigitBits)) & (kDigitValues - 1);
}

using Counts = std::array<std::size_t, kDigitValues>;

void distribute(std::span<const Entry> from, Entry* to, Counts& starts, int place) {
  std::size_t next = 0;
  for (std::size_t& start : starts) next += std::exchange(start, next);
  for (const Entry& entry : from) to[starts[digit(entry.key, place)]++] = entry;
}

// Entries of equal leading bits stand in order of index; few of them, if any, differ in the bits behind.
void finish(std::span<Entry> entries) {
  for (std::size_t begin = 0; begin < entries.size();) {
    const std::uint64_t leading = entries[begin].key >> kLeadingShift;
    std::size_t end = begin + 1;
    bool sorted = true;
    for (; end < entries.size() && entries[end].key >> kLeadingShift == leading; ++end) {
      sorted = sorted && entries[end - 1].key <= entries[end].key;
    }
    if (!sorted) {
      const auto first = entries.begin();
      std::stable_sort(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end),
                       [](const Entry& a, const Entry& b) { return a.key < b.key; });
    }
    begin = end;
  }
}

}  // namespace

// A stable radix sort of the leading bits, lowest digit first: equal values stay in order of index by
// themselves.
std::vector<Index> rank_descending(std::span<const double> values) {
  const std::size_t n = values.size();
  auto entries = std::make_unique_for_overwrite<Entry[]>(n);
  auto other = std::make_unique_for_overwrite<Entry[]>(n);
  std::array<Counts, kDigits> counts{};
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t key = descending_key(values[i]);
    entries[i] = {key, static_cast<Index>(i)};
    for (int place = 0; place < kDigits; ++place)
      ++counts[static_cast<std::size_t>(place)][digit(key, place)];
  }
  for (int place = 0; place < kDigits; ++place) {
    Counts& count = counts[static_cast<std::size_t>(place)];
    if (std::find(count.begin(), count.end(), n) != count.end()) continue;  // one digit for all
    distribute({entries.get(), n}, other.get(), count, place);
    std::swap(entries, other);
  }
  finish({entries.get(), n});
  std::vector<Index> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = entries[i].index;
  return order;
}

}  // namespace winnow
