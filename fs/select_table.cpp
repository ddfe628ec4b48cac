#include "fs/select_table.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fs/csv.h"
#include "policy/error.h"

namespace winnow {
namespace {

using nlohmann::json;
using Columns = std::map<std::string, std::vector<std::string>>;

Columns parse_csv(std::string_view text) {
  std::istringstream stream{std::string(text)};
  CsvReader reader(stream, "the table");
  std::vector<std::string> names;
  reader.next(names);
  Columns columns;
  for (std::string& name : names) {
    name = trimmed(name);
    if (!columns.try_emplace(name).second)
      throw PolicyError("columns must have different names, got " + name + " twice");
  }
  std::vector<std::string> cells;
  for (std::size_t row = 1; reader.next(cells); ++row) {
    if (cells.size() == 1 && trimmed(cells[0]).empty()) continue;
    if (cells.size() != names.size()) {
      throw PolicyError("row " + std::to_string(row) + " must have " + std::to_string(names.size()) +
                        " cells, got " + std::to_string(cells.size()));
    }
    for (std::size_t i = 0; i < cells.size(); ++i) columns[names[i]].push_back(trimmed(cells[i]));
  }
  return columns;
}

std::string cell_of(const json& value) {
  if (value.is_null()) return "";
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Columns parse_json(std::string_view text) {
  json table;
  try {
    table = json::parse(text);
  } catch (const json::parse_error& error) {
    throw PolicyError(std::string("table must be CSV or JSON, got ") + error.what());
  }
  Columns columns;
  if (table.is_object()) {
    for (const auto& [name, values] : table.items()) {
      if (!values.is_array()) throw PolicyError("column " + name + " must be a list, got " + values.dump());
      for (const json& value : values) columns[name].push_back(cell_of(value));
    }
    return columns;
  }
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (!table[row].is_object())
      throw PolicyError("row " + std::to_string(row + 1) + " must be an object, got " + table[row].dump());
    for (const auto& [name, value] : table[row].items()) {
      columns[name].resize(table.size());
      columns[name][row] = cell_of(value);
    }
  }
  return columns;
}

}  // namespace

SelectTable SelectTable::read(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
  } else {
    std::ifstream file(path);
    if (!file)
      throw PolicyError("table must be a file that can be read, or - for standard input, got " + path);
    text << file.rdbuf();
  }
  return parse(text.str());
}

SelectTable SelectTable::parse(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) throw PolicyError("table must have at least 1 row, got none");
  SelectTable table;
  table.columns_ =
      text[begin] == '[' || text[begin] == '{' ? parse_json(text) : parse_csv(text.substr(begin));
  for (const auto& [name, cells] : table.columns_) {
    if (table.rows_ == 0) table.rows_ = cells.size();
    require_length("column " + name, cells.size(), table.rows_);
  }
  if (table.rows_ == 0) throw PolicyError("table must have at least 1 row, got none");
  table.index_samples();
  return table;
}

void SelectTable::index_samples() {
  std::vector<std::int64_t> id_of_row(rows_);
  for (std::size_t row = 0; row < rows_; ++row) {
    id_of_row[row] = static_cast<std::int64_t>(row);
    if (!has("id")) continue;
    const std::string& text = columns_["id"][row];
    const auto read = std::from_chars(text.data(), text.data() + text.size(), id_of_row[row]);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || id_of_row[row] < 0) {
      refuse("id of row " + std::to_string(row + 1), "an integer of at least 0", '"' + text + '"');
    }
  }
  ids_ = id_of_row;
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  std::vector<std::size_t> seen(ids_.size());
  first_row_.resize(ids_.size());
  for (std::size_t row = 0; row < rows_; ++row) {
    const Index sample = std::lower_bound(ids_.begin(), ids_.end(), id_of_row[row]) - ids_.begin();
    const std::size_t round = seen[static_cast<std::size_t>(sample)]++;
    if (round == 0) first_row_[static_cast<std::size_t>(sample)] = row;
    if (round == rounds_.size()) rounds_.emplace_back();
    rounds_[round].push_back(row);
    sample_of_.push_back(sample);
  }
}

const std::vector<std::string>& SelectTable::texts(const std::string& column, const std::string& why) const {
  const auto found = columns_.find(column);
  if (found == columns_.end()) throw PolicyError("table must have a column " + column + ", " + why);
  return found->second;
}

std::optional<double> SelectTable::number(const std::string& column, std::size_t row) const {
  const std::string& text = columns_.at(column)[row];
  if (text.empty()) return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc{} && read.ptr == text.data() + text.size()) return value;
  refuse(column + " of row " + std::to_string(row + 1), "a number", '"' + text + '"');
}

std::vector<std::string> SelectTable::probability_columns() const {
  std::vector<std::string> names;
  while (has("p" + std::to_string(names.size()))) names.push_back("p" + std::to_string(names.size()));
  return names;
}

}  // namespace winnow
