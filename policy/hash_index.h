// Multi-index hashing: finds every hash within a distance by looking only where some part of it is nearly
// equal. The hash is cut into parts; if two hashes differ in at most d bits, at least one part differs in few
// enough that the table of that part names the other. Exact, whatever the cut.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace winnow {

class HashIndex {
 public:
  // Chooses the cut that promises the least work for `count` hashes.
  HashIndex(std::size_t count, int distance);

  bool worthwhile() const { return worthwhile_; }  // false: going through all hashes is cheaper
  void build(std::span<const std::uint64_t> hashes);

  // How many entries a search for `probe` would look at.
  std::size_t candidates(std::uint64_t probe) const;

  // Calls visit(entries) with the ascending positions (and their hashes) of every bucket that may hold a
  // match.
  template <typename Visit>
  void for_each_bucket(std::uint64_t probe, Visit visit) const {
    for (const Table& table : tables_) {
      const std::uint64_t part = (probe >> table.shift) & table.part_mask;
      for (const std::uint32_t flip : table.flips) {
        const std::size_t bucket = part ^ flip;
        const std::size_t begin = table.starts[bucket];
        const std::size_t end = table.starts[bucket + 1];
        if (begin != end) {
          visit(std::span(table.hashes).subspan(begin, end - begin),
                std::span(table.positions).subspan(begin, end - begin));
        }
      }
    }
  }

 private:
  struct Table {
    int shift;
    std::uint64_t part_mask;
    std::vector<std::uint32_t> flips;   // what to toggle in the part, fewest bits first
    std::vector<std::uint32_t> starts;  // of each bucket, and the end of the last
    std::vector<std::uint64_t> hashes;  // by bucket, then by position
    std::vector<std::uint32_t> positions;
  };
  struct Part {
    int bits;
    int radius;  // how many of its bits may differ; −1: the part is not searched
  };

  static std::vector<Part> cut(int parts, int distance);
  static double cost(const std::vector<Part>& parts, std::size_t count);

  std::vector<Table> tables_;
  bool worthwhile_ = false;
};

}  // namespace winnow
