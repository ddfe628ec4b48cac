// Files whose content is made when somebody looks: .winnow/status.json and .winnow/metrics. Each lookup of
// the name makes a new edition, a node of its own with its own text, which never changes; so whoever reads
// one, in however small steps, reads one text. An edition ends when the kernel forgets it. One that a process
// before this one made is made anew when it is asked for: its reader must not fail. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/bytes.h"
#include "cache/file_stat.h"

namespace winnow {

class GeneratedFiles {
 public:
  struct Edition {
    std::uint64_t number = 0;  // never given twice
    std::size_t file = 0;
    FileStat stat;
    Bytes text;
  };

  // Numbers begin above `first_number`, which is above all that earlier processes gave.
  explicit GeneratedFiles(std::uint64_t first_number = microseconds_now()) : first_number_(first_number) {}

  void add(std::string name, std::function<std::string()> make);

  std::size_t count() const { return files_.size(); }
  std::string_view name(std::size_t file) const { return files_[file].name; }
  std::optional<std::size_t> find(std::string_view name) const;

  FileStat stat(std::size_t file) const;  // for listings: the kind and the owner, no size
  Edition publish(std::size_t file);      // makes the text anew
  std::optional<Edition> edition(std::size_t file, std::uint64_t number);
  void forget(std::uint64_t number);

 private:
  struct File {
    std::string name;
    std::function<std::string()> make;
  };
  static std::uint64_t microseconds_now();  // no process makes a million editions a second
  Edition make(std::size_t file) const;
  void keep(Edition& edition);  // with mutex_ held

  // More than any kernel remembers at once; past it the oldest goes.
  static constexpr std::size_t kMaxEditions = 4096;

  const std::uint64_t first_number_;
  std::vector<File> files_;
  mutable std::mutex mutex_;  // guards all below; not held while a text is made
  std::map<std::uint64_t, Edition> editions_;
  std::uint64_t last_number_ = first_number_;
  Timestamp last_time_;
};

}  // namespace winnow
