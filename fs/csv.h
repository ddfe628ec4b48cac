// CSV as RFC 4180 has it: records end with a line, cells may be quoted, and quoted cells may hold commas,
// line ends and doubled quotes. Reads record by record, so that a file may be larger than memory. Not
// thread-safe.
#pragma once

#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

class CsvReader {
 public:
  // `what` is what an error calls it: "the table". The stream must outlive this.
  CsvReader(std::istream& stream, std::string what) : buffer_(*stream.rdbuf()), what_(std::move(what)) {}

  // The next record's cells; false at the end. Throws PolicyError when a quote is not closed.
  bool next(std::vector<std::string>& cells);

  std::size_t line() const { return line_; }  // at which the record began, from 1
  // It was the last line, and lacks its end.
  bool was_cut() const { return cut_ && next_line_ == line_; }

 private:
  bool take_cell(std::string& cell);  // false: the record goes on

  std::streambuf& buffer_;
  const std::string what_;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
  bool cut_ = false;
};

// The cell as it stands in a record, quoted where it must be.
std::string csv_cell(std::string_view text);

std::string trimmed(std::string_view text);  // without blanks around it

}  // namespace winnow
