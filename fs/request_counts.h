// How many requests of each kind the kernel has sent. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow {

class RequestCounts {
 public:
  void add(std::uint32_t opcode) {
    counts_[opcode < kKinds ? opcode : 0].fetch_add(1, std::memory_order_relaxed);
  }

  // Kinds seen so far, by name ("read", "lookup", ...).
  std::vector<std::pair<std::string_view, std::uint64_t>> by_kind() const;
  std::uint64_t total() const;

 private:
  static constexpr std::size_t kKinds = 64;
  std::array<std::atomic<std::uint64_t>, kKinds> counts_{};
};

}  // namespace winnow
