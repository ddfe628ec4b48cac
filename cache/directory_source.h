// A directory tree: a local path or any mounted network filesystem.
// With follow_symlinks, a link is shown as what it points to, if that lies inside the source; loops, dangling
// links and links that leave are counted as left out. Without, links are shown as links.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "cache/file_descriptor.h"
#include "cache/source.h"

namespace winnow {

class DirectorySource final : public Source {
 public:
  // Throws StartupError if `root` is missing, not a folder or not readable.
  DirectorySource(const std::string& root, bool follow_symlinks);
  // One that was there before, and may be away just now: `root` is resolved, and opened when it is needed.
  static std::unique_ptr<DirectorySource> known(const std::string& root, bool follow_symlinks);

  std::string identity() const override;
  Result<Listing> list(ScanProgress& progress) override;
  Result<FileStat> stat(const std::string& path) override;
  Result<Bytes> read(const std::string& path, const Version& version, std::uint64_t offset,
                     std::size_t size) override;

 private:
  explicit DirectorySource(bool follow_symlinks) : follow_symlinks_(follow_symlinks) {}
  Result<int> root_fd() const;
  Result<FileDescriptor> open(const std::string& path, int flags) const;

  std::string root_;
  bool follow_symlinks_;
  mutable std::mutex root_mutex_;  // guards root_fd_ until it is there; held while it is opened
  mutable FileDescriptor root_fd_;
};

}  // namespace winnow
