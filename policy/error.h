// What a policy says when it is handed something it cannot use: one sentence that names the field and what
// the field accepts. The C interface, the Python package and the command line pass the sentence on unchanged.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "policy/sample.h"

namespace winnow {

class PolicyError : public std::invalid_argument {
 public:
  explicit PolicyError(const std::string& sentence, Index sample = kNoSample)
      : std::invalid_argument(sentence), sample_(sample) {}
  Index sample() const { return sample_; }  // the sample that was refused, or kNoSample

 private:
  Index sample_;
};

// An interval of numbers, and how a sentence calls it. NaN and infinity are in none.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  bool contains(double number) const {
    if (!(number - number == 0)) return false;  // NaN or infinite
    return (low_open ? number > low : number >= low) && (high_open ? number < high : number <= high);
  }
  std::string text() const;  // "in (0, 1]", "at least 0", "a finite number"
};

inline constexpr Interval kFinite{};
inline constexpr Interval kUnit{.low = 0, .high = 1};
inline constexpr Interval kFraction{.low = 0, .high = 1, .low_open = true};
inline constexpr Interval kNotNegative{.low = 0};
inline constexpr Interval kAtLeastOne{.low = 1};

std::string spelled(double number);  // the shortest text that reads back as the same number

[[noreturn]] void refuse(std::string_view field, std::string_view accepted, std::string_view got);
[[noreturn]] void refuse_sample(Index sample, std::string_view field, std::string_view accepted, double got);

void require(std::string_view field, double number, const Interval& range);
void require_length(std::string_view field, std::size_t length, std::size_t expected);
void require_index(std::string_view field, Index index, Index count);

inline void require_of_sample(Index sample, std::string_view field, double number, const Interval& range) {
  if (!range.contains(number)) [[unlikely]]
    refuse_sample(sample, field, range.text(), number);
}

}  // namespace winnow
