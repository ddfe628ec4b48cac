#include "policy/parameters.h"

#include <charconv>
#include <cmath>

namespace winnow {
namespace {

constexpr std::string_view kSeparators = " ,\t\r\n";

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

template <typename Number>
bool read_whole(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc{} && read.ptr == end;
}

}  // namespace

NamedValues parse_named_values(std::string_view text) {
  NamedValues values;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) return values;
    text.remove_prefix(begin);
    const std::string_view pair = text.substr(0, text.find_first_of(kSeparators));
    text.remove_prefix(pair.size());
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) refuse("parameter", "name=value", quoted(pair));
    values.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
}

double parse_number(std::string_view field, std::string_view text, const Interval& range) {
  double number = 0;
  if (!read_whole(text, number)) refuse(field, range.text(), quoted(text));
  require(field, number, range);
  return number;
}

std::int64_t parse_integer(std::string_view field, std::string_view text, const Interval& range) {
  std::int64_t number = 0;
  if (!read_whole(text, number)) refuse(field, integer_range_text(range), quoted(text));
  require_integer(field, number, range);
  return number;
}

std::uint64_t parse_seed(std::string_view field, std::string_view text) {
  std::uint64_t number = 0;
  if (!read_whole(text, number)) refuse(field, "an integer in [0, 2^64)", quoted(text));
  return number;
}

bool parse_flag(std::string_view field, std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  refuse(field, "true or false", quoted(text));
}

std::size_t parse_choice(std::string_view field, std::string_view text,
                         const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
  }
  refuse(field, "one of " + joined(names, ", "), quoted(text));
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('+'));
    parts.emplace_back(part);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += separator;
    text += name;
  }
  return text;
}

void require_integer(std::string_view field, std::int64_t number, const Interval& range) {
  if (range.contains(static_cast<double>(number))) return;
  refuse(field, integer_range_text(range), std::to_string(number));
}

std::string integer_range_text(const Interval& range) {
  if (!std::isfinite(range.high)) return "an integer of at least " + spelled(range.low);
  return "an integer " + range.text();
}

void refuse_unknown_parameter(std::string_view policy, std::string_view name,
                              const std::vector<std::string>& known) {
  refuse("parameter of " + std::string(policy), "one of " + joined(known, ", "), quoted(name));
}

}  // namespace winnow
