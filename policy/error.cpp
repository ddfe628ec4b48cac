#include "policy/error.h"

#include <charconv>
#include <cmath>

namespace winnow {

std::string Interval::text() const {
  const bool has_low = std::isfinite(low);
  const bool has_high = std::isfinite(high);
  if (has_low && has_high) {
    return std::string("in ") + (low_open ? "(" : "[") + spelled(low) + ", " + spelled(high) +
           (high_open ? ")" : "]");
  }
  if (has_low) return (low_open ? "a finite number above " : "a finite number of at least ") + spelled(low);
  if (has_high) return (high_open ? "a finite number below " : "a finite number of at most ") + spelled(high);
  return "a finite number";
}

std::string spelled(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number);
  return {text, end.ptr};
}

void refuse(std::string_view field, std::string_view accepted, std::string_view got) {
  throw PolicyError(std::string(field) + " must be " + std::string(accepted) + ", got " + std::string(got));
}

void refuse_sample(Index sample, std::string_view field, std::string_view accepted, double got) {
  throw PolicyError(std::string(field) + " of sample " + std::to_string(sample) + " must be " +
                        std::string(accepted) + ", got " + spelled(got),
                    sample);
}

void require(std::string_view field, double number, const Interval& range) {
  if (!range.contains(number)) refuse(field, range.text(), spelled(number));
}

void require_length(std::string_view field, std::size_t length, std::size_t expected) {
  if (length == expected) return;
  throw PolicyError(std::string(field) + " must have " + std::to_string(expected) + " values, got " +
                    std::to_string(length));
}

void require_index(std::string_view field, Index index, Index count) {
  if (index >= 0 && index < count) return;
  throw PolicyError(std::string(field) + " must be in [0, " + std::to_string(count) + "), got " +
                    std::to_string(index));
}

}  // namespace winnow
