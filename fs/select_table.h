// A table of facts as `winnow select` reads it: CSV with a header line, or JSON (a list of objects, or an
// object of lists). A cell that is empty or null is not known. Rows with the same id are one sample's
// history, in order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/sample.h"

namespace winnow {

class SelectTable {
 public:
  static SelectTable parse(std::string_view text);
  static SelectTable read(const std::string& path);  // "-" is standard input

  bool has(const std::string& column) const { return columns_.contains(column); }
  std::size_t rows() const { return rows_; }

  // A column that must be there; `why` ends the error's sentence.
  const std::vector<std::string>& texts(const std::string& column, const std::string& why) const;
  std::optional<double> number(const std::string& column, std::size_t row) const;  // nullopt: not known

  // The samples in ascending order of id (or row by row without an id column).
  Index samples() const { return static_cast<Index>(ids_.size()); }
  std::int64_t id(Index sample) const { return ids_[static_cast<std::size_t>(sample)]; }
  Index sample_of(std::size_t row) const { return sample_of_[row]; }
  std::size_t first_row(Index sample) const { return first_row_[static_cast<std::size_t>(sample)]; }

  // Rows by how often their sample has come before: the k-th round holds every sample's k-th row.
  const std::vector<std::vector<std::size_t>>& rounds() const { return rounds_; }

  std::vector<std::string> probability_columns() const;  // p0, p1, ... as far as they go

 private:
  void index_samples();

  std::map<std::string, std::vector<std::string>> columns_;
  std::size_t rows_ = 0;
  std::vector<std::int64_t> ids_;
  std::vector<Index> sample_of_;
  std::vector<std::size_t> first_row_;
  std::vector<std::vector<std::size_t>> rounds_;
};

}  // namespace winnow
