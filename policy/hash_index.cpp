#include "policy/hash_index.h"

#include <bit>
#include <limits>

namespace winnow {
namespace {

constexpr int kHashBits = 64;
constexpr int kMostParts = 16;
constexpr int kMostPartBits = 22;   // a table of 16 MB
constexpr double kLookupCost = 10;  // reading a bucket's bounds, in entries compared
constexpr double kMostFlips = 20000;

// How many ways there are to toggle at most `radius` of `bits` bits.
double ways(int bits, int radius) {
  double total = 0;
  double term = 1;
  for (int r = 0; r <= radius; ++r) {
    total += term;
    term = term * (bits - r) / (r + 1);
  }
  return total;
}

void add_flips(std::vector<std::uint32_t>& flips, int bits, int left, int from, std::uint32_t flip) {
  if (left == 0) return flips.push_back(flip);
  for (int bit = from; bit + left <= bits; ++bit) {
    add_flips(flips, bits, left - 1, bit + 1, flip | (std::uint32_t{1} << bit));
  }
}

std::vector<std::uint32_t> flips_of(int bits, int radius) {
  std::vector<std::uint32_t> flips;
  for (int r = 0; r <= radius; ++r) add_flips(flips, bits, r, 0, 0);
  return flips;
}

}  // namespace

// If every part i differed in more than r_i bits, the hashes would differ in at least the sum of r_i + 1: so
// that sum need only exceed the distance by one.
std::vector<HashIndex::Part> HashIndex::cut(int parts, int distance) {
  std::vector<Part> made;
  for (int i = 0; i < parts; ++i) {
    const int share = (distance + 1) / parts + (i < (distance + 1) % parts ? 1 : 0);
    made.push_back({kHashBits / parts + (i >= parts - kHashBits % parts ? 1 : 0), share - 1});
  }
  return made;
}

double HashIndex::cost(const std::vector<Part>& parts, std::size_t count) {
  double total = 0;
  for (const Part& part : parts) {
    if (part.radius < 0) continue;
    if (part.bits > kMostPartBits || ways(part.bits, part.radius) > kMostFlips) {
      return std::numeric_limits<double>::infinity();
    }
    const auto buckets = static_cast<double>(std::uint64_t{1} << part.bits);
    const auto entries = static_cast<double>(count);
    total += ways(part.bits, part.radius) * (kLookupCost + entries / buckets);
    total += buckets / entries;  // a search's share of making the table
  }
  return total;
}

HashIndex::HashIndex(std::size_t count, int distance) {
  double best = static_cast<double>(count);
  std::vector<Part> chosen;
  for (int parts = 1; parts <= kMostParts; ++parts) {
    std::vector<Part> candidate = cut(parts, distance);
    const double candidate_cost = cost(candidate, count);
    if (candidate_cost >= best) continue;
    best = candidate_cost;
    chosen = std::move(candidate);
  }
  worthwhile_ = !chosen.empty();
  int shift = 0;
  for (const Part& part : chosen) {
    if (part.radius >= 0) {
      tables_.push_back(
          {shift, (std::uint64_t{1} << part.bits) - 1, flips_of(part.bits, part.radius), {}, {}, {}});
    }
    shift += part.bits;
  }
}

void HashIndex::build(std::span<const std::uint64_t> hashes) {
  for (Table& table : tables_) {
    const auto part_of = [&](std::uint64_t hash) { return (hash >> table.shift) & table.part_mask; };
    table.starts.assign(table.part_mask + 2, 0);
    for (const std::uint64_t hash : hashes) ++table.starts[part_of(hash) + 1];
    for (std::size_t i = 1; i < table.starts.size(); ++i) table.starts[i] += table.starts[i - 1];
    std::vector<std::uint32_t> next(table.starts.begin(), table.starts.end() - 1);
    table.hashes.resize(hashes.size());
    table.positions.resize(hashes.size());
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      const std::uint32_t place = next[part_of(hashes[i])]++;
      table.hashes[place] = hashes[i];
      table.positions[place] = static_cast<std::uint32_t>(i);
    }
  }
}

std::size_t HashIndex::candidates(std::uint64_t probe) const {
  std::size_t total = 0;
  for (const Table& table : tables_) {
    const std::uint64_t part = (probe >> table.shift) & table.part_mask;
    for (const std::uint32_t flip : table.flips)
      total += table.starts[(part ^ flip) + 1] - table.starts[part ^ flip];
  }
  return total;
}

}  // namespace winnow
