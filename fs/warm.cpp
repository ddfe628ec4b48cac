#include "fs/warm.h"

#include <algorithm>
#include <thread>

namespace winnow {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// What is fetched and not yet kept. The queues take 64 MiB; the rest of that is for what readers bring meanwhile.
constexpr std::uint64_t kMostOnTheWay = 48 << 20;
constexpr auto kLookAgain = 5ms;

// Files that the source does not give, before it is given up. One that hangs takes its whole time for each.
constexpr unsigned kMostFailedInARow = 32;
constexpr unsigned kMostFailedSlowly = 4;

}  // namespace

WarmOrder parse_warm_order(const std::string& text) {
  if (text == "path") return WarmOrder::kPath;
  if (text == "importance") return WarmOrder::kImportance;
  if (text == "list") return WarmOrder::kList;
  throw StartupError("'" + text + "' is no order to warm in; write path, importance or list");
}

void Warm::Flying::begin(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return count_ < std::min(at_once_, limit_.value()) && (count_ == 0 || bytes_ + bytes <= max_bytes_);
  });
  ++count_;
  bytes_ += bytes;
}

void Warm::Flying::end(std::uint64_t bytes, Brought brought, Clock::duration took) {
  const std::lock_guard lock(mutex_);
  --count_;
  bytes_ -= bytes;
  if (brought == Brought::kFromSource) limit_.on_success(took);
  if (brought == Brought::kNothing) limit_.on_failure();
  changed_.notify_all();
}

void Warm::Flying::wait_for_all() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return count_ == 0; });
}

std::uint64_t Warm::Flying::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

// A file of which parts are being fetched.
struct Warm::Underway {
  explicit Underway(const FileRef& which) : file(which) {}
  const FileRef file;
  std::atomic<std::uint64_t> parts{1};  // one for who still asks for more
  std::atomic<bool> fetched{false};
  std::atomic<bool> failed{false};
  std::atomic<bool> broken_off{false};
};

WarmProgress Warm::run(const WarmOptions& options) {
  if (parts_.tiers.disk() == nullptr && parts_.tiers.pages() == nullptr)
    throw StartupError("this mount keeps nothing to warm; mount with --disk SIZE, or without --page-cache off");
  if (running_.exchange(true)) throw StartupError("the mount is being warmed already; wait until that has ended");
  cancelled_ = full_ = not_writing_ = source_fails_ = false;
  failed_in_a_row_ = 0;
  answered_at_ = Clock::now();
  for (auto* count : {&done_files_, &done_bytes_, &found_bytes_, &fetched_files_, &failed_files_, &held_files_,
                      &held_bytes_, &not_held_files_, &compared_files_, &unreadable_files_, &changed_files_,
                      &wrong_files_, &unreadable_slots_, &bytes_})
    *count = 0;
  const std::vector<FileRef> files = choose(options, *parts_.snapshots.tree());
  files_ = files.size();
  for (const FileRef& file : files) bytes_ += file.version.size;
  if (options.check) {
    check(files, options);
  } else {
    fill(files, options);
    settle();
    count_held(files);
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
      return parts_.tiers.importance(a.id) > parts_.tiers.importance(b.id);
    });
  }
  const auto count = static_cast<std::size_t>(static_cast<double>(files.size()) * options.fraction + 0.5);
  if (count < files.size()) files.resize(count);
  return files;
}

// By its key, so that it is true also before the disk's samples have been given their ids.
bool Warm::is_there(const FileRef& file) const {
  const std::uint64_t size = file.version.size;
  const DiskTier* disk = parts_.tiers.disk();
  return size == 0 || (disk != nullptr && disk->contains(file)) || parts_.tiers.in_memory(file.id, size);
}

void Warm::done(const FileRef& file) {
  ++done_files_;
  done_bytes_ += file.version.size;
}

void Warm::fill(const std::vector<FileRef>& files, const WarmOptions& options) {
  if (parts_.tiers.disk() != nullptr) {
    const DiskCounts counts = parts_.tiers.disk()->counts();
    displaced_before_ = counts.evictions + counts.refused;
  }
  Flying flying(std::max(1u, options.at_once));
  for (const FileRef& file : files) {
    source_fails_ = source_fails(options.source_timeout);
    if (cancelled_ || full_ || not_writing_ || source_fails_) break;
    if (is_there(file)) {
      found_bytes_ += file.version.size;
      done(file);
      continue;
    }
    // Pages can be pushed only to a file that the kernel knows; to look at it makes it known.
    if (parts_.tiers.disk() == nullptr && !parts_.tiers.can_take(node_of(file.id))) parts_.kernel.resident(file.path);
    bring(file, flying);
  }
  flying.wait_for_all();
}

void Warm::bring(const FileRef& file, Flying& flying) {
  const auto underway = std::make_shared<Underway>(file);
  const std::uint64_t size = file.version.size, most = parts_.reads.most_at_once();
  const DiskTier* disk = parts_.tiers.disk();
  for (std::uint64_t at = 0; at < size && !underway->failed; at += most) {
    const Range part{at, std::min(most, size - at)};
    if (disk != nullptr && disk->held_from(file, part.offset, part.size) == part.size) {
      found_bytes_ += part.size;
      done_bytes_ += part.size;
    } else if (!bring_part(underway, part, flying)) {
      underway->broken_off = true;
      break;
    }
  }
  part_ended(*underway);
}

// False if it was not begun: there is no room, or nobody wants it any more.
bool Warm::bring_part(const std::shared_ptr<Underway>& file, Range part, Flying& flying) {
  if (!wait_for_queue(part.size, flying)) return false;
  if (!has_room(flying.bytes() + part.size)) {
    flying.wait_for_all();  // what is on the way is counted twice for a moment: look when nothing is
    settle();
    if (cancelled_ || !find_room(part.size)) return false;
  }
  flying.begin(part.size);
  ++file->parts;
  const auto ended = [this, file, part, &flying, began = Clock::now()](Brought brought) {
    if (brought == Brought::kNothing) file->failed = true;
    if (brought == Brought::kFromSource) file->fetched = true;
    done_bytes_ += part.size;
    part_ended(*file);
    flying.end(part.size, brought, Clock::now() - began);
  };
  if (!parts_.reads.prefetch(file->file, part, ended)) ended(Brought::kFromTier);  // a reader is having it fetched
  return true;
}

void Warm::part_ended(Underway& file) {
  if (--file.parts > 0) return;
  if (file.failed || file.fetched) note_source(file.file, !file.failed);
  failed_files_ += file.failed ? 1 : 0;
  fetched_files_ += file.fetched && !file.failed && !file.broken_off ? 1 : 0;
  done_files_ += file.broken_off ? 0 : 1;
}

void Warm::note_source(const FileRef& file, bool answered) {
  const std::lock_guard lock(source_mutex_);
  failed_in_a_row_ = answered ? 0 : failed_in_a_row_ + 1;
  if (answered) answered_at_ = Clock::now();
  failed_last_ = file;
}

// Files that changed since the snapshot cannot be read either, perhaps a whole folder of them: the rest can.
bool Warm::source_fails(std::chrono::milliseconds timeout) {
  FileRef file;
  {
    const std::lock_guard lock(source_mutex_);
    const bool hangs = timeout > 0ms && Clock::now() - answered_at_ >= timeout;
    if (failed_in_a_row_ < (hangs ? kMostFailedSlowly : kMostFailedInARow)) return false;
    failed_in_a_row_ = 0;
    file = failed_last_;
  }
  const auto now = parts_.source.stat(file.path);
  if (now) return now.value().version == file.version;
  return !means_changed(now.error()) || !parts_.source.stat("");  // a source that went away has no files either
}

bool Warm::wait_for_queue(std::uint64_t bytes, const Flying& flying) const {
  while (!cancelled_) {
    if (parts_.tiers.waiting_bytes() + flying.bytes() + bytes <= kMostOnTheWay) return true;
    std::this_thread::sleep_for(kLookAgain);
  }
  return false;
}

// Nobody leaves for what is warmed.
bool Warm::has_room(std::uint64_t bytes) const {
  const DiskTier* disk = parts_.tiers.disk();
  if (disk == nullptr) return parts_.tiers.has_room(bytes);
  const DiskCounts counts = disk->counts();
  return counts.may_write && counts.evictions + counts.refused == displaced_before_ &&
         parts_.tiers.has_free_room(counts, parts_.tiers.room_for(bytes));
}

bool Warm::may_write() const { return parts_.tiers.disk() == nullptr || parts_.tiers.disk()->counts().may_write; }

// If there is none, it is known why.
bool Warm::find_room(std::uint64_t bytes) {
  not_writing_ = !may_write();
  full_ = !not_writing_ && !has_room(bytes);
  return !not_writing_ && !full_;
}

// Until all that was fetched is kept, or has been given up.
void Warm::settle() const {
  DiskTier* disk = parts_.tiers.disk();
  while (!cancelled_ && disk != nullptr && !disk->flush(100ms)) {
  }
  while (!cancelled_ && disk == nullptr && parts_.tiers.waiting_bytes() > 0) std::this_thread::sleep_for(kLookAgain);
}

void Warm::count_held(const std::vector<FileRef>& files) {
  for (const FileRef& file : files) {
    if (!is_there(file)) continue;
    ++held_files_;
    held_bytes_ += file.version.size;
  }
}

WarmProgress Warm::progress() const {
  return {.running = running_,
          .files = files_,
          .bytes = bytes_,
          .done_files = done_files_,
          .done_bytes = done_bytes_,
          .found_bytes = found_bytes_,
          .fetched_files = fetched_files_,
          .failed_files = failed_files_,
          .held_files = held_files_,
          .held_bytes = held_bytes_,
          .not_held_files = not_held_files_,
          .compared_files = compared_files_,
          .unreadable_files = unreadable_files_,
          .changed_files = changed_files_,
          .wrong_files = wrong_files_,
          .unreadable_slots = unreadable_slots_,
          .full = full_,
          .source_fails = source_fails_,
          .cancelled = cancelled_,
          .on_disk = parts_.tiers.disk() != nullptr,
          .not_writing = not_writing_,
          .disk_trouble = parts_.tiers.disk() != nullptr ? parts_.tiers.disk()->counts().why_not_writing : ""};
}

}  // namespace winnow
