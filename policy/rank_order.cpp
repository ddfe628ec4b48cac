#include "policy/rank_order.h"

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

namespace winnow {
namespace {

constexpr int kDigitBits = 11;
constexpr int kDigits = 6;
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

std::size_t digit(std::uint64_t key, int place) { return (key >> (place * kDigitBits)) & (kDigitValues - 1); }

using Counts = std::array<std::array<std::size_t, kDigitValues>, kDigits>;

bool one_value(const std::array<std::size_t, kDigitValues>& counts, std::size_t all) {
  for (const std::size_t count : counts) {
    if (count != 0) return count == all;
  }
  return true;
}

void distribute(std::span<const Entry> from, std::vector<Entry>& to,
                std::array<std::size_t, kDigitValues>& starts, int place) {
  std::size_t next = 0;
  for (std::size_t& start : starts) next += std::exchange(start, next);
  for (const Entry& entry : from) to[starts[digit(entry.key, place)]++] = entry;
}

}  // namespace

// A stable radix sort, lowest digit first: equal values stay in order of index by themselves.
std::vector<Index> rank_descending(std::span<const double> values) {
  std::vector<Entry> entries(values.size());
  auto counts = std::make_unique<Counts>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    entries[i] = {descending_key(values[i]), static_cast<Index>(i)};
    for (int place = 0; place < kDigits; ++place) ++(*counts)[place][digit(entries[i].key, place)];
  }
  std::vector<Entry> other(values.size());
  for (int place = 0; place < kDigits; ++place) {
    if (one_value((*counts)[place], entries.size())) continue;
    distribute(entries, other, (*counts)[place], place);
    std::swap(entries, other);
  }
  std::vector<Index> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = entries[i].index;
  return order;
}

}  // namespace winnow
