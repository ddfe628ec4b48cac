// Between golden files and the arrays of the C interface.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "policy/winnow_policy.h"

namespace winnow::golden {

using nlohmann::json;
using Numbers = std::vector<double>;
using Ids = std::vector<int64_t>;
using Bytes = std::vector<uint8_t>;

inline void require_ok(int status) {
  if (status != WINNOW_OK) throw std::runtime_error(winnow_last_error());
}

inline double number(const json& value) {
  if (value.is_null()) return NAN;
  if (value == "nan") return NAN;
  if (value == "inf") return INFINITY;
  return value.get<double>();
}

inline Numbers numbers(const json& list) {
  Numbers made;
  for (const json& one : list) made.push_back(number(one));
  return made;
}

inline int64_t count_of(const auto& list) { return static_cast<int64_t>(list.size()); }
inline uint64_t word(const json& text) { return std::stoull(text.get<std::string>()); }
inline json or_null(double value) { return std::isnan(value) ? json(nullptr) : json(value); }

inline std::string spelled(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

inline std::string parameters(const json& object, std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names) {
    if (object.contains(name)) text += std::string(name) + "=" + spelled(object[name]) + " ";
  }
  return text;
}

inline std::string joined(const json& names) {
  std::string text;
  for (const json& one : names) text += (text.empty() ? "" : "+") + one.get<std::string>();
  return text;
}

inline json split(const std::string& names) {
  json list = json::array();
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find('+', begin), names.size());
    list.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

inline json ids_where(const Bytes& marks, auto marked) {
  json ids = json::array();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marked(marks[i])) ids.push_back(i);
  }
  return ids;
}

// A list per sample, flattened.
struct Ragged {
  Numbers values;
  Ids offsets = {0};
  explicit Ragged(const json& lists, std::size_t skip = 0) {
    for (const json& list : lists) {
      for (std::size_t i = skip; i < list.size(); ++i) values.push_back(number(list[i]));
      offsets.push_back(count_of(values));
    }
  }
  int64_t count() const { return count_of(offsets) - 1; }
};

// A call that writes up to `room` ids and their number.
template <typename Call>
Ids collected(int64_t room, Call call) {
  Ids ids(static_cast<std::size_t>(room) + 1);
  int64_t count = 0;
  require_ok(call(ids.data(), &count));
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

}  // namespace winnow::golden
