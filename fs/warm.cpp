#include "fs/warm.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <unordered_set>

#include "cache/file_descriptor.h"
#include "cache/prefetch_limit.h"

namespace winnow {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kCheckedAtOnce = 8 << 20;

// How many are under way, and a place to wait for them.
class Flying {
 public:
  explicit Flying(unsigned at_once) : limit_(at_once), most_(at_once) {}

  void begin() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return count_ < std::min(most_, limit_.value()); });
    ++count_;
  }
  void end(Fetcher::Brought brought, Clock::duration took) {
    const std::lock_guard lock(mutex_);
    --count_;
    if (brought == Fetcher::Brought::kFromSource) limit_.on_success(took);
    if (brought == Fetcher::Brought::kNothing) limit_.on_failure();
    changed_.notify_all();
  }
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  PrefetchLimit limit_;
  const unsigned most_;
  unsigned count_ = 0;
};

}  // namespace

WarmOrder parse_warm_order(const std::string& text) {
  if (text == "path") return WarmOrder::kPath;
  if (text == "importance") return WarmOrder::kImportance;
  if (text == "list") return WarmOrder::kList;
  throw StartupError("'" + text + "' is no order to warm in; write path, importance or list");
}

Warm::Warm(const Snapshots& snapshots, Tiers& tiers, Source& source, std::string mountpoint)
    : snapshots_(snapshots), tiers_(tiers), source_(source), mountpoint_(std::move(mountpoint)) {}

WarmProgress Warm::run(const WarmOptions& options) {
  if (running_.exchange(true)) throw StartupError("the mount is being warmed already; wait until that has ended");
  cancelled_ = full_ = false;
  done_files_ = done_bytes_ = fetched_files_ = failed_files_ = wrong_files_ = 0;
  const std::vector<FileRef> files = choose(options, *snapshots_.tree());
  files_ = files.size();
  bytes_ = 0;
  for (const FileRef& file : files) bytes_ += file.version.size;
  if (options.check) {
    check(files);
  } else {
    fill(files, options.at_once);
  }
  running_ = false;
  return progress();
}

std::vector<FileRef> Warm::choose(const WarmOptions& options, const Tree& tree) const {
  std::vector<FileRef> files;
  if (options.order == WarmOrder::kList) {
    for (const SampleId id : options.list) {
      if (const auto node = tree.find(node_of(id))) files.push_back({id, tree.path(*node), node->stat.version});
    }
  } else {
    tree.each_file([&](const Node& file) { files.push_back({sample_of(file.id), tree.path(file), file.stat.version}); });
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  }
  if (options.order == WarmOrder::kImportance) {
    std::stable_sort(files.begin(), files.end(), [this](const auto& a, const auto& b) {
      return tiers_.importance(a.id) > tiers_.importance(b.id);
    });
  }
  const auto count = static_cast<std::size_t>(static_cast<double>(files.size()) * options.fraction + 0.5);
  if (count < files.size()) files.resize(count);
  return files;
}

// Nobody leaves for what is warmed.
bool Warm::has_room(std::uint64_t bytes) const {
  const DiskTier* disk = tiers_.disk();
  if (disk == nullptr) return tiers_.has_room_ahead(bytes);
  const DiskCounts counts = disk->counts();
  return counts.writing && counts.bytes_stored + counts.queued_bytes + bytes <= tiers_.window_bytes();
}

void Warm::fill(const std::vector<FileRef>& files, unsigned at_once) {
  Flying flying(std::max(1u, at_once));
  std::atomic<std::uint64_t> under_way{0};
  for (const FileRef& file : files) {
    const std::uint64_t size = file.version.size;
    if (cancelled_ || full_) break;
    if (size == 0 || tiers_.holds(file.id, size) || !tiers_.can_take(node_of(file.id))) {
      done(file);
      continue;
    }
    flying.begin();
    if (!has_room(under_way + size)) {
      full_ = true;
      flying.end(Fetcher::Brought::kFromTier, {});
      break;
    }
    under_way += size;
    const auto ended = [&, file, began = Clock::now()](Fetcher::Brought brought) {
      under_way -= file.version.size;
      fetched_files_ += brought == Fetcher::Brought::kFromSource;
      failed_files_ += brought == Fetcher::Brought::kNothing;
      done(file);
      flying.end(brought, Clock::now() - began);
    };
    if (!tiers_.fetch(file, ended)) ended(Fetcher::Brought::kFromTier);  // a reader is having it fetched
  }
  flying.wait_for_all();
}

void Warm::done(const FileRef& file) {
  ++done_files_;
  done_bytes_ += file.version.size;
}

void Warm::check(const std::vector<FileRef>& files) {
  for (const FileRef& file : files) {
    if (cancelled_) break;
    std::string held;
    if (!agrees(file, held)) {
      ++wrong_files_;
      if (tiers_.disk() != nullptr) tiers_.disk()->remove(file);
    }
    done(file);
  }
}

// Compares what is held on disk, and what is in the page cache, with the source.
bool Warm::agrees(const FileRef& file, std::string& held) const {
  const std::uint64_t size = file.version.size;
  const bool disk = tiers_.on_disk(file.id, size);
  const bool memory = tiers_.in_memory(file.id, size);
  if (!disk && !memory) return true;
  const FileDescriptor pages(memory ? open((mountpoint_ + "/" + file.path).c_str(), O_RDONLY | O_CLOEXEC) : -1);
  for (std::uint64_t at = 0; at < size; at += kCheckedAtOnce) {
    const std::size_t part = std::min(kCheckedAtOnce, size - at);
    const auto truth = source_.read(file.path, file.version, at, part);
    if (!truth) return true;  // it changed or cannot be reached: a read will tell
    const auto same = [&](std::span<const std::byte> other) {
      return other.size() == truth.value().size() && std::memcmp(other.data(), truth.value().span().data(), part) == 0;
    };
    const auto kept = disk ? tiers_.disk()->read(file, at, part) : std::nullopt;
    if (kept && !same(kept->span())) return false;
    if (!pages) continue;
    held.resize(part);
    const ssize_t got = pread(pages.get(), held.data(), part, static_cast<off_t>(at));
    if (got >= 0 && !same(std::as_bytes(std::span(held.data(), static_cast<std::size_t>(got))))) return false;
  }
  return true;
}

WarmProgress Warm::progress() const {
  return {.running = running_,
          .files = files_,
          .bytes = bytes_,
          .done_files = done_files_,
          .done_bytes = done_bytes_,
          .fetched_files = fetched_files_,
          .failed_files = failed_files_,
          .wrong_files = wrong_files_,
          .full = full_};
}

}  // namespace winnow
