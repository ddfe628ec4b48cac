#include "cache/directory_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <climits>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cache/beneath.h"

namespace winnow {

namespace {

struct CloseStream {
  void operator()(DIR* stream) const { closedir(stream); }
};

struct FoundEntry {
  std::string name;
  std::string target;
  FileStat stat;
};

// What one thread found in one folder, before it joins the listing.
struct FoundFolder {
  std::vector<FoundEntry> entries;
  Listing skips;  // its left_out and skipped only
};

// A folder still to be listed.
struct PendingFolder {
  std::uint32_t index = 0;
  std::string path;
};

class Scanner {
 public:
  Scanner(const DirectoryScan& scan, ScanProgress& progress) : scan_(scan), progress_(progress) {}

  Result<Listing> run();

 private:
  void work();
  std::optional<PendingFolder> next();
  Result<FoundFolder> list_folder(const PendingFolder& folder) const;
  std::error_code examine(int folder_fd, const PendingFolder& folder, const char* name,
                          FoundFolder& found) const;
  bool follow(const PendingFolder& folder, FoundEntry& entry) const;
  bool leads_to_ancestor(const std::string& path, const Version& version) const;
  void add(const PendingFolder& folder, FoundFolder found);
  void finish_folder(const PendingFolder& folder, Result<FoundFolder> found);

  const DirectoryScan& scan_;
  ScanProgress& progress_;

  std::mutex mutex_;  // guards all below; held for appends only, never over a system call
  std::condition_variable changed_;
  std::deque<PendingFolder> pending_;
  std::size_t busy_ = 0;
  std::error_code failure_;
  Listing listing_;
};

// Refused is refused for good, and gone is gone; anything else may be a passing fault of the storage, and
// leaving a folder out for that would look as if its files had been removed.
bool may_leave_out(const std::error_code& error) {
  return error == errno_error(EACCES) || error == errno_error(EPERM) || error == errno_error(ENOENT) ||
         error == errno_error(ELOOP) || error == errno_error(ENOTDIR) || error == errno_error(ENAMETOOLONG);
}

Result<Listing> Scanner::run() {
  BOOST_OUTCOME_TRY(root, stat_at(scan_.root_fd, ""));
  listing_.entries.push_back({.stat = root});
  pending_.push_back({0, ""});
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < scan_.threads; ++i) threads.emplace_back([this] { work(); });
  threads.clear();
  if (progress_.cancelled) return errno_error(ECANCELED);
  if (failure_) return failure_;
  return std::move(listing_);
}

void Scanner::work() {
  while (const auto folder = next()) finish_folder(*folder, list_folder(*folder));
}

std::optional<PendingFolder> Scanner::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !pending_.empty() || busy_ == 0 || failure_ || progress_.cancelled; });
  if (pending_.empty() || failure_ || progress_.cancelled) return std::nullopt;
  // The newest first: depth before breadth keeps the queue short in wide trees.
  PendingFolder folder = std::move(pending_.back());
  pending_.pop_back();
  ++busy_;
  return folder;
}

void Scanner::finish_folder(const PendingFolder& folder, Result<FoundFolder> found) {
  std::unique_lock lock(mutex_);
  if (found) {
    add(folder, std::move(found.value()));
  } else if (folder.index != 0 && may_leave_out(found.error())) {
    if (found.error() != errno_error(ENOENT)) listing_.skip(kUnreadable, folder.path);
  } else if (!failure_) {
    failure_ = found.error();
    progress_.failed_at = join_path(scan_.root, folder.path);
  }
  --busy_;
  changed_.notify_all();
}

void Scanner::add(const PendingFolder& folder, FoundFolder found) {
  for (FoundEntry& entry : found.entries) {
    if (listing_.entries.size() == std::numeric_limits<std::uint32_t>::max()) {
      failure_ = errno_error(EOVERFLOW);
      return;
    }
    const auto index = static_cast<std::uint32_t>(listing_.entries.size());
    ListedEntry& listed = listing_.entries.emplace_back();
    listed.folder = folder.index;
    listed.name_offset = listing_.text.size();
    listed.name_length = static_cast<std::uint32_t>(entry.name.size());
    listing_.text += entry.name;
    listed.target_offset = listing_.text.size();
    listing_.text += entry.target;
    listed.stat = entry.stat;
    if (S_ISDIR(entry.stat.mode)) pending_.push_back({index, join_path(folder.path, entry.name)});
  }
  listing_.take_skips(std::move(found.skips));
}

Result<FoundFolder> Scanner::list_folder(const PendingFolder& folder) const {
  auto opened = scan_.follow_symlinks
                    ? open_resolved_beneath(scan_.root, scan_.root_fd, folder.path, O_RDONLY | O_DIRECTORY)
                    : open_beneath(scan_.root_fd, folder.path, O_RDONLY | O_DIRECTORY);
  if (!opened) return opened.error();
  const std::unique_ptr<DIR, CloseStream> stream(fdopendir(opened.value().get()));
  if (!stream) return last_error();
  const int fd = opened.value().release();

  FoundFolder found;
  while (!progress_.cancelled) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr && errno != 0) return last_error();
    if (entry == nullptr) break;
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    if (const auto error = examine(fd, folder, entry->d_name, found)) return error;
    progress_.entries.fetch_add(1, std::memory_order_relaxed);
  }
  return found;
}

std::error_code Scanner::examine(int folder_fd, const PendingFolder& folder, const char* name,
                                 FoundFolder& found) const {
  if (folder.index == 0 && std::strcmp(name, kReservedName.data()) == 0) {
    found.skips.skip(kReserved, name);
    return {};
  }
  const auto stat = stat_at(folder_fd, name);
  if (!stat) {
    if (!may_leave_out(stat.error())) return stat.error();
    if (stat.error() != errno_error(ENOENT)) found.skips.skip(kUnreadable, join_path(folder.path, name));
    return {};
  }
  FoundEntry entry{name, {}, stat.value()};
  if (S_ISLNK(entry.stat.mode) && scan_.follow_symlinks) {
    if (!follow(folder, entry)) {
      found.skips.skip(kLinks, join_path(folder.path, name));
      return {};
    }
  } else if (S_ISLNK(entry.stat.mode)) {
    char target[PATH_MAX];
    const ssize_t length = readlinkat(folder_fd, name, target, sizeof target);
    if (length < 0) return errno == ENOENT || errno == EINVAL ? std::error_code{} : last_error();
    entry.target.assign(target, static_cast<std::size_t>(length));
    entry.stat.version.size = entry.target.size();
  }
  if (!S_ISREG(entry.stat.mode) && !S_ISDIR(entry.stat.mode) && !S_ISLNK(entry.stat.mode)) {
    found.skips.skip(kSpecial, join_path(folder.path, name));
    return {};
  }
  found.entries.push_back(std::move(entry));
  return {};
}

// Turns a link into what it points to; false if that is outside, missing or a folder around the link itself.
bool Scanner::follow(const PendingFolder& folder, FoundEntry& entry) const {
  const std::string path = join_path(folder.path, entry.name);
  auto opened = open_resolved_beneath(scan_.root, scan_.root_fd, path, O_PATH);
  if (!opened) return false;
  const auto stat = stat_at(opened.value().get(), "");
  if (!stat) return false;
  if (S_ISDIR(stat.value().mode) && leads_to_ancestor(folder.path, stat.value().version)) return false;
  entry.stat = stat.value();
  return true;
}

bool Scanner::leads_to_ancestor(const std::string& path, const Version& version) const {
  std::string ancestor = path;
  while (true) {
    auto opened = open_resolved_beneath(scan_.root, scan_.root_fd, ancestor, O_PATH);
    if (!opened) return true;
    const auto stat = stat_at(opened.value().get(), "");
    if (!stat) return true;
    if (stat.value().version.tag == version.tag && stat.value().version.device == version.device) return true;
    if (ancestor.empty()) return false;
    const auto slash = ancestor.rfind('/');
    ancestor.resize(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

Result<Listing> scan_directory(const DirectoryScan& scan, ScanProgress& progress) {
  return Scanner(scan, progress).run();
}

}  // namespace winnow
