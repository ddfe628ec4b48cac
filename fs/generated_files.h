// Files whose content is made when somebody looks: .winnow/status.json and .winnow/metrics. Each look at the
// attributes makes the content anew, with a true size and an mtime that moved; reads get the content last
// made. Sizes are rounded up with line ends, which both formats ignore, and never shrink, so that a reader
// who meets two versions does not read past the end of one into the other. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cache/bytes.h"
#include "cache/file_stat.h"

namespace winnow {

class GeneratedFiles {
 public:
  void add(std::string name, std::function<std::string()> make);

  std::size_t count() const { return files_.size(); }
  std::string_view name(std::size_t index) const { return files_[index]->name; }
  std::size_t find(std::string_view name) const;  // count() if there is none

  FileStat renew(std::size_t index);  // makes the content anew
  Bytes read(std::size_t index, std::uint64_t offset, std::size_t size);

 private:
  struct File {
    std::string name;
    std::function<std::string()> make;
    std::mutex mutex;  // guards the two below; not held over make()
    Bytes content;
    FileStat stat;
  };
  static constexpr std::size_t kSizeStep = 16384;

  std::vector<std::unique_ptr<File>> files_;
};

}  // namespace winnow
