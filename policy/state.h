// Saved state as bytes that any machine reads back: little-endian words in a fixed order, each part opened by
// its name, so that a state of another kind or version is refused and not misread.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "policy/random.h"

namespace winnow {

class StateWriter {
 public:
  void open(std::string_view name);
  void word(std::uint64_t value) { put(value, 8); }
  void integer(std::int64_t value) { word(static_cast<std::uint64_t>(value)); }
  void number(double value) { word(std::bit_cast<std::uint64_t>(value)); }
  void optional_number(const std::optional<double>& value);
  void random(const Random& random);

  // A column of which all values are one is written once: most are, in most jobs.
  template <typename T>
  void column(std::span<const T> values) {
    word(values.size());
    bool same = true;
    for (const T& value : values) same = same && bits(value) == bits(values.front());
    word(same ? 1 : 0);
    for (const T& value : values.first(same && !values.empty() ? 1 : values.size()))
      put(bits(value), sizeof(T));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  static std::uint64_t bits(T value) {
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::uint32_t>(value);
    if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(value);
    return static_cast<std::uint64_t>(value);
  }
  void put(std::uint64_t value, std::size_t width);

  std::string bytes_;
};

// Throws a PolicyError on anything that is not the state it is asked for.
class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : left_(bytes) {}
  void open(std::string_view name);
  std::uint64_t word() { return take(8); }
  std::int64_t integer() { return static_cast<std::int64_t>(word()); }
  double number() { return std::bit_cast<double>(word()); }
  std::optional<double> optional_number();
  Random random();
  void close() const;  // nothing may be left

  template <typename T>
  void column(std::span<T> values) {
    require_rows(word(), values.size());
    const bool same = word() == 1;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = same && i > 0 ? values[0] : value<T>();
  }

 private:
  template <typename T>
  T value() {
    const std::uint64_t bits = take(sizeof(T));
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(bits);
    return static_cast<T>(bits);
  }
  std::uint64_t take(std::size_t width);
  static void require_rows(std::uint64_t got, std::size_t expected);

  std::string_view left_;
};

}  // namespace winnow
