#include "policy/state.h"

#include "policy/error.h"

namespace winnow {

void StateWriter::open(std::string_view name) {
  word(name.size());
  bytes_ += name;
}

void StateWriter::optional_number(const std::optional<double>& value) {
  word(value ? 1 : 0);
  number(value.value_or(0));
}

void StateWriter::random(const Random& random) {
  for (const std::uint64_t part : random.state()) word(part);
}

void StateWriter::put(std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) bytes_ += static_cast<char>(value >> (8 * i));
}

void StateReader::open(std::string_view name) {
  const std::uint64_t length = word();
  const std::string_view found = left_.substr(0, length);
  if (found != name)
    refuse("state", "one saved by " + std::string(name), '"' + std::string(found.substr(0, 40)) + '"');
  left_.remove_prefix(name.size());
}

std::optional<double> StateReader::optional_number() {
  const bool present = word() == 1;
  const double value = number();
  return present ? std::optional(value) : std::nullopt;
}

Random StateReader::random() {
  std::uint64_t state[4];
  for (std::uint64_t& part : state) part = word();
  Random random(0);
  random.set_state(state);
  return random;
}

void StateReader::close() const {
  if (!left_.empty())
    refuse("state", "as long as it was saved", std::to_string(left_.size()) + " bytes more");
}

std::uint64_t StateReader::take(std::size_t width) {
  if (left_.size() < width) refuse("state", "as long as it was saved", "a shorter one");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(left_[i])) << (8 * i);
  }
  left_.remove_prefix(width);
  return value;
}

void StateReader::require_rows(std::uint64_t got, std::size_t expected) {
  if (got == expected) return;
  refuse("state", "of " + std::to_string(expected) + " samples", std::to_string(got));
}

}  // namespace winnow
