#include "policy/quantile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "policy/error.h"

namespace winnow {
namespace {

constexpr unsigned kPrefixBits = 16;
constexpr std::size_t kSmall = 4096;

// The order of these prefixes is the order of the numbers.
std::uint32_t prefix_of(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);  // -0 and 0 are one number
  const std::uint64_t ordered = bits ^ ((bits >> 63) ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
  return static_cast<std::uint32_t>(ordered >> (64 - kPrefixBits));
}

struct Neighbours {
  double at;
  double next;
};

// The values of rank `rank` and `rank + 1` (the last twice, where there is no next).
Neighbours select(std::vector<double>& values, std::size_t rank) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), at, values.end());
  const auto next = at + 1 == values.end() ? at : std::min_element(at + 1, values.end());
  return {*at, *next};
}

// Counting by leading bits leaves only the few values around the rank to be selected from: two passes over
// the values in order, where selecting among all of them would move them about several times.
Neighbours select_by_prefix(std::span<const double> values, std::span<const std::uint32_t> counts,
                            std::size_t rank) {
  std::uint32_t first = 0;
  std::size_t before = 0;
  while (before + counts[first] <= rank) before += counts[first++];
  std::uint32_t last = first;
  // The next rank may begin a later bucket; the buckets between are empty.
  if (before + counts[first] == rank + 1) {
    do ++last;
    while (last < counts.size() && counts[last] == 0);
    if (last == counts.size()) last = first;
  }
  std::vector<double> around;
  around.reserve(counts[first] + (last == first ? 0 : counts[last]));
  for (const double value : values) {
    if (value != value) continue;
    const std::uint32_t prefix = prefix_of(value);
    if (prefix == first || prefix == last) around.push_back(value);
  }
  return select(around, rank - before);
}

}  // namespace

std::optional<double> quantile(std::span<const double> values, double q) {
  require("q", q, kUnit);
  std::vector<std::uint32_t> counts;
  std::vector<double> numbers;
  std::size_t n = 0;
  if (values.size() <= kSmall) {
    std::copy_if(values.begin(), values.end(), std::back_inserter(numbers), [](double v) { return v == v; });
    n = numbers.size();
  } else {
    counts.resize(std::size_t{1} << kPrefixBits);
    for (const double value : values) {
      if (value != value) continue;
      ++counts[prefix_of(value)];
      ++n;
    }
  }
  if (n == 0) return std::nullopt;
  const double position = static_cast<double>(n - 1) * q;
  const auto rank = static_cast<std::size_t>(position);
  const Neighbours found = counts.empty() ? select(numbers, rank) : select_by_prefix(values, counts, rank);
  return found.at + (position - std::floor(position)) * (found.next - found.at);
}

Index ceil_of(double fraction, Index n) {
  const double product = fraction * static_cast<double>(n);
  return static_cast<Index>(std::ceil(product - 1e-9 - product * 1e-12));
}

}  // namespace winnow
