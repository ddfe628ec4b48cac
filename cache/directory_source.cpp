#include "cache/directory_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "cache/beneath.h"
#include "cache/directory_scan.h"

namespace winnow {

DirectorySource::DirectorySource(const std::string& root, bool follow_symlinks)
    : follow_symlinks_(follow_symlinks) {
  char resolved[PATH_MAX];
  if (realpath(root.c_str(), resolved) == nullptr) {
    throw StartupError("source " + root + ": " + errno_text(errno) + "; name a folder that exists");
  }
  root_ = resolved;
  root_fd_.reset(::open(resolved, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (root_fd_) return;
  const int error = errno;
  if (error == ENOTDIR) throw StartupError("source " + root + " is not a folder; name the folder to mount");
  throw StartupError("source " + root + " cannot be read: " + errno_text(error) +
                     "; mount as a user who may list it");
}

std::unique_ptr<DirectorySource> DirectorySource::known(const std::string& root, bool follow_symlinks) {
  std::unique_ptr<DirectorySource> source(new DirectorySource(follow_symlinks));
  source->root_ = root;
  return source;
}

// A source that is away may come back, so its absence must not look like an absent file.
Result<int> DirectorySource::root_fd() const {
  const std::lock_guard lock(root_mutex_);
  if (!root_fd_) root_fd_.reset(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root_fd_) return errno_error(ENOTCONN);
  return root_fd_.get();
}

std::string DirectorySource::identity() const { return "dir:" + root_; }

Result<FileDescriptor> DirectorySource::open(const std::string& path, int flags) const {
  BOOST_OUTCOME_TRY(root, root_fd());
  if (follow_symlinks_) return open_resolved_beneath(root_, root, path, flags);
  return open_beneath(root, path, flags);
}

Result<Listing> DirectorySource::list(ScanProgress& progress) {
  BOOST_OUTCOME_TRY(root, root_fd());
  return scan_directory({.root = root_, .root_fd = root, .follow_symlinks = follow_symlinks_},
                        progress);
}

Result<FileStat> DirectorySource::stat(const std::string& path) {
  BOOST_OUTCOME_TRY(fd, open(path, O_PATH | O_NOFOLLOW));
  return stat_at(fd.get(), "");
}

Result<Bytes> DirectorySource::read(const std::string& path, const Version& version, std::uint64_t offset,
                                    std::size_t size) {
  BOOST_OUTCOME_TRY(fd, open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  BOOST_OUTCOME_TRY(before, stat_at(fd.get(), ""));
  if (!S_ISREG(before.mode) || !(before.version == version)) return errno_error(ESTALE);

  auto buffer = std::make_shared_for_overwrite<std::byte[]>(size);
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = pread(fd.get(), buffer.get() + got, size - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_error();
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }

  // A writer may have come in between: only if nothing moved are these the bytes of one version.
  BOOST_OUTCOME_TRY(after, stat_at(fd.get(), ""));
  // The length must fit too: the kernel changes a file's size and its times one after the other.
  const std::uint64_t expected =
      offset < version.size ? std::min<std::uint64_t>(size, version.size - offset) : 0;
  if (got != expected || !(after.version == version)) return errno_error(ESTALE);
  return Bytes(std::move(buffer), got);
}

}  // namespace winnow
