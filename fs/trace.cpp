#include "fs/trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <unordered_map>

#include "cache/result.h"
#include "fs/csv.h"

namespace winnow {
namespace {

// A CSV file with named columns; its errors name file and line.
class ColumnReader {
 public:
  explicit ColumnReader(const std::string& file) : file_(file) {
    if (file != "-") {
      own_ = std::make_unique<std::ifstream>(file, std::ios::binary);
      if (!*own_) throw StartupError(file + " cannot be read: " + errno_text(errno) + "; name a CSV file");
      if (std::filesystem::is_directory(file)) throw StartupError(file + " is a folder; name a CSV file");
    }
    csv_ = std::make_unique<CsvReader>(own_ ? *own_ : std::cin, file_);
    if (!csv_->next(names_))
      throw StartupError(file_ + " is empty; its first line must name the columns");
    for (std::string& name : names_) name = trimmed(name);
  }

  std::optional<std::size_t> column(std::string_view name) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != name) continue;
      if (found) throw StartupError(file_ + " has the column " + names_[i] + " twice; leave one out");
      found = i;
    }
    return found;
  }
  std::size_t required(std::string_view name) const {
    if (const auto found = column(name)) return *found;
    throw StartupError(file_ + " has no column " + std::string(name) +
                       "; its first line must name the columns, like path,bytes");
  }

  // Calls take() for each record; a last line that was cut off and makes no sense is left out.
  template <typename Take>
  void each(const Take& take) {
    while (true) {
      try {
        if (!csv_->next(cells_)) return;
        if (cells_.size() == 1 && trimmed(cells_[0]).empty()) continue;
        if (cells_.size() != names_.size()) {
          throw StartupError(file_ + ", line " + std::to_string(csv_->line()) + ": has " +
                             std::to_string(cells_.size()) + " cells where the header has " +
                             std::to_string(names_.size()) + "; quote cells that hold commas");
        }
        take();
      } catch (const std::exception&) {
        if (!csv_->was_cut()) throw;
        std::cerr << "winnow: the last line of " << file_ << " was cut off and is left out\n";
        return;
      }
    }
  }

  const std::string& text(std::size_t column) const { return cells_[column]; }

  template <typename Number>
  Number number(std::size_t column, const char* accepted) const {
    const std::string cell = trimmed(cells_[column]);
    Number value{};
    const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (read.ec == std::errc{} && read.ptr == cell.data() + cell.size()) return value;
    fail(column, accepted);
  }
  std::optional<double> score(std::size_t column) const {
    if (trimmed(cells_[column]).empty()) return std::nullopt;
    const auto value = number<double>(column, "a finite number or nothing");
    if (!std::isfinite(value)) fail(column, "a finite number or nothing");
    return value;
  }
  [[noreturn]] void fail(std::size_t column, const std::string& accepted) const {
    throw StartupError(file_ + ", line " + std::to_string(csv_->line()) + ", column " + names_[column] +
                       ": must be " + accepted + ", got \"" + cells_[column] + "\"");
  }

 private:
  const std::string file_;
  std::unique_ptr<std::ifstream> own_;
  std::unique_ptr<CsvReader> csv_;
  std::vector<std::string> names_;
  std::vector<std::string> cells_;
};

bool ends_itself(std::string_view path) {
  std::string ending;
  for (const char c : path.substr(path.rfind('.') + 1)) ending += static_cast<char>(std::tolower(c));
  for (const char* known : {"jpg", "jpeg", "png", "gif", "webp", "bmp"}) {
    if (ending == known) return true;
  }
  return false;
}

// The first folder, below the split if there is one; empty if there is none.
std::string_view label_of(std::string_view path) {
  const auto first_folder = [](std::string_view of) {
    const std::size_t slash = of.find('/');
    return slash == std::string_view::npos ? std::string_view() : of.substr(0, slash);
  };
  const std::string_view first = first_folder(path);
  for (const char* split : {"train", "training", "val", "valid", "validation", "test"}) {
    if (first != split) continue;
    const std::string_view below = first_folder(path.substr(first.size() + 1));
    return below.empty() ? first : below;
  }
  return first;
}

// Gives names numbers, in the order they come.
class Numbering {
 public:
  std::int64_t of(std::string_view name) {
    return numbers_.try_emplace(std::string(name), static_cast<std::int64_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, std::int64_t> numbers_;
};

class TraceBuilder {
 public:
  void add(const std::string& path, std::uint64_t bytes, std::optional<double> score) {
    auto [known, fresh] = sample_of_.try_emplace(path, SampleId{0});
    if (fresh || trace_.sample(known->second).bytes != bytes) known->second = new_sample(path, bytes);
    trace_.reads.push_back(known->second);
    if (score) scores_[value(known->second) - 1] = *score;
  }
  void begin_epoch() { trace_.epoch_starts.push_back(trace_.reads.size()); }
  void set_score(const std::string& path, double score) {
    const auto known = sample_of_.find(path);
    if (known != sample_of_.end()) scores_[value(known->second) - 1] = score;
  }
  bool is_empty() const { return trace_.reads.empty(); }

  AccessTrace take(bool knows_epochs, double unimportant) {
    if (!knows_epochs) trace_.epoch_starts = recognised_epochs(trace_.reads, trace_.samples.size());
    apply_scores(trace_, scores_, unimportant);
    return std::move(trace_);
  }

 private:
  SampleId new_sample(std::string_view path, std::uint64_t bytes) {
    std::optional<std::int64_t> label;
    if (const auto folder = label_of(path); !folder.empty()) label = labels_.of(folder);
    trace_.samples.push_back({.bytes = bytes, .label = label, .ends_itself = ends_itself(path)});
    scores_.push_back(NAN);
    return SampleId{trace_.samples.size()};
  }

  AccessTrace trace_;
  std::vector<double> scores_;
  std::unordered_map<std::string, SampleId> sample_of_;
  Numbering labels_;
};

void read_accesses(TraceBuilder& trace, ColumnReader& table, std::optional<std::size_t> epoch) {
  const std::size_t path = table.required("path");
  const std::size_t bytes = table.required("bytes");
  const auto score = table.column("score");
  std::optional<double> latest;
  table.each([&] {
    if (table.text(path).empty()) table.fail(path, "a file's path");
    const auto size = table.number<std::uint64_t>(bytes, "a number of bytes");
    const auto scored = score ? table.score(*score) : std::nullopt;
    if (epoch) {
      const auto in = table.number<double>(*epoch, "a number");
      if (latest && in > *latest) trace.begin_epoch();
      latest = std::max(latest.value_or(in), in);
    }
    trace.add(table.text(path), size, scored);
  });
}

}  // namespace

void append_line(std::string& text, const RecordedAccess& access) {
  char seconds[40];
  const int length = std::snprintf(seconds, sizeof seconds, "%lld.%06lld,",
                                   static_cast<long long>(access.microseconds / 1'000'000),
                                   static_cast<long long>(access.microseconds % 1'000'000));
  text.append(seconds, static_cast<std::size_t>(length));
  text += csv_cell(access.path);
  text += ',' + std::to_string(access.bytes) + ',';
  if (access.reader != 0) text += std::to_string(access.reader);
  text += '\n';
}

AccessTrace read_trace(const std::string& file, const TraceOptions& options) {
  ColumnReader table(file);
  TraceBuilder trace;
  const auto epoch = table.column("epoch");
  read_accesses(trace, table, epoch);
  if (trace.is_empty()) throw StartupError(file + " holds no access; record some, or use --generate");
  if (!options.scores_file.empty()) {
    ColumnReader scores(options.scores_file);
    const std::size_t path = scores.required("path");
    const std::size_t score = scores.required("score");
    scores.each([&] {
      if (const auto known = scores.score(score)) trace.set_score(scores.text(path), *known);
    });
  }
  return trace.take(epoch.has_value(), options.unimportant);
}

}  // namespace winnow
