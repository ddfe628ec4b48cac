#include "fs/csv.h"

#include "policy/error.h"

namespace winnow {
namespace {

constexpr int kEnd = std::char_traits<char>::eof();

}  // namespace

bool CsvReader::next(std::vector<std::string>& cells) {
  line_ = next_line_;
  if (buffer_.sgetc() == kEnd) return false;
  std::size_t count = 0;
  bool ended = false;
  while (!ended) {
    if (count == cells.size()) cells.emplace_back();
    ended = take_cell(cells[count++]);
  }
  cells.resize(count);
  return true;
}

bool CsvReader::take_cell(std::string& cell) {
  cell.clear();
  bool quoted = false;
  while (true) {
    const int c = buffer_.sbumpc();
    cut_ = c == kEnd;
    if (cut_ && quoted) {
      throw PolicyError("a quoted cell of " + what_ + " must end with a quote, got the end of " + what_ +
                        " in the record of line " + std::to_string(line_));
    }
    if (cut_) return true;
    if (c == '\n') ++next_line_;
    if (quoted && c == '"') {
      if (buffer_.sgetc() == '"') {
        cell += static_cast<char>(buffer_.sbumpc());
      } else {
        quoted = false;
      }
    } else if (quoted) {
      cell += static_cast<char>(c);
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      return c == '\n';
    } else if (c != '\r') {
      cell += static_cast<char>(c);
    }
  }
}

std::string csv_cell(std::string_view text) {
  // Blanks at the ends are quoted too, for readers that trim, and a carriage return, which would be lost.
  const bool plain = text.find_first_of(",\"\n\r") == std::string_view::npos && !text.starts_with(' ') &&
                     !text.ends_with(' ') && !text.starts_with('\t') && !text.ends_with('\t');
  if (plain) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell += '"';
}

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

}  // namespace winnow
