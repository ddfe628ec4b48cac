#include "fs/order_file.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <unordered_set>

#include "cache/result.h"
#include "fs/csv.h"
#include "policy/cache_importance.h"
#include "policy/error.h"

namespace winnow {

namespace {

std::optional<Node> find_path(const Tree& tree, std::string_view path) {
  std::optional<Node> at = tree.root();
  while (at && !path.empty()) {
    const auto part = path.substr(0, path.find('/'));
    if (!part.empty()) at = tree.child(*at, part);
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return at;
}

// What a file that is no list may hold, made fit for a terminal.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::string out(text.substr(0, kMost));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  return "'" + out + (text.size() > kMost ? "...'" : "'");
}

// As CSV writers quote a path that holds commas or quotes.
std::string unquoted(const std::string& path) {
  if (path.size() < 2 || !path.starts_with('"') || !path.ends_with('"')) return path;
  std::istringstream text(path);
  std::vector<std::string> cells;
  try {
    CsvReader(text, "the scores").next(cells);
  } catch (const PolicyError&) {  // no quoted cell, but perhaps a name
    return path;
  }
  return cells.size() == 1 ? cells[0] : path;
}

class ListedFiles {
 public:
  ListedFiles(const std::string& path, const Tree& tree, const std::string& mountpoint)
      : path_(path), tree_(tree), mountpoint_(mountpoint), file_(path) {
    if (!file_) throw StartupError(path + ": " + errno_text(errno) + "; name a file that the daemon can read");
    if (std::filesystem::is_directory(path)) throw StartupError(path + " is a folder; name a file with one path a line");
  }

  // Calls take(line) for every line that is not empty; it uses file() and refuse().
  void each_line(const std::function<void(std::string_view)>& take) {
    for (std::string line; std::getline(file_, line);) {
      ++number_;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (!line.empty()) take(line);
    }
    if (seen_.empty()) throw StartupError(path_ + " names no file; write one path a line");
  }

  SampleId file(std::string_view path) {
    std::string_view inside = path;
    if (inside.starts_with(mountpoint_ + "/")) inside.remove_prefix(mountpoint_.size() + 1);
    while (inside.starts_with("./")) inside.remove_prefix(2);  // as find(1) prints them
    const auto node = find_path(tree_, inside);
    if (!node || !is_regular(node->stat)) {
      refuse("the mount has no file " + shown(path) + "; paths are relative to its root");
    }
    if (!seen_.insert(value(node->id)).second) refuse(shown(path) + " is named twice; name each file once");
    return sample_of(node->id);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw StartupError(path_ + " line " + std::to_string(number_) + ": " + why);
  }
  std::size_t number() const { return number_; }

 private:
  const std::string path_;
  const Tree& tree_;
  const std::string mountpoint_;
  std::ifstream file_;
  std::size_t number_ = 0;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

std::vector<SampleId> read_order(const std::string& path, const Tree& tree, const std::string& mountpoint) {
  ListedFiles files(path, tree, mountpoint);
  std::vector<SampleId> order;
  files.each_line([&](std::string_view line) { order.push_back(files.file(line)); });
  return order;
}

std::vector<std::pair<SampleId, double>> read_scores(const std::string& path, const Tree& tree,
                                                     const std::string& mountpoint) {
  ListedFiles files(path, tree, mountpoint);
  std::vector<SampleId> ids;
  std::vector<double> scores;
  files.each_line([&](std::string_view line) {
    if (files.number() == 1 && line == "path,score") return;
    const auto comma = line.rfind(',');  // a path may have commas, a score has none
    const std::string_view text = comma == std::string_view::npos ? "" : line.substr(comma + 1);
    double score = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), score);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(score))
      files.refuse(shown(line) + " is not path,score; write a number behind the last comma");
    ids.push_back(files.file(unquoted(std::string(line.substr(0, comma)))));
    scores.push_back(score);
  });
  const std::vector<double> importance = cache_importance(scores, Buckets(static_cast<Index>(ids.size())));
  std::vector<std::pair<SampleId, double>> found;
  for (std::size_t i = 0; i < ids.size(); ++i) found.emplace_back(ids[i], importance[i]);
  return found;
}

}  // namespace winnow
