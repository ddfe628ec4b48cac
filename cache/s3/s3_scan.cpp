#include "cache/s3/s3_scan.h"

#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>

#include "cache/back_off.h"
#include "cache/s3/folder_group.h"
#include "cache/s3/page_check.h"

namespace winnow::s3 {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kEnoughFolders = 64;  // to share out: no need to look into them for more
constexpr std::size_t kManyFolders = 256;   // so many that a request for each would take long
constexpr std::chrono::milliseconds kLook{50};  // how often a pause looks whether it was cancelled

bool sleep_unless_cancelled(std::chrono::milliseconds length, const std::atomic<bool>* cancelled) {
  const auto until = Clock::now() + length;
  while (Clock::now() < until) {
    if (cancelled != nullptr && *cancelled) return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(kLook, until - Clock::now()));
  }
  return cancelled == nullptr || !*cancelled;
}

class Scanner {
 public:
  Scanner(const S3Scan& scan, ScanProgress& progress) : scan_(scan), progress_(progress) {}

  Result<std::vector<ListedObject>> run() {
    pending_.push_back({.prefix = scan_.prefix});
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < scan_.threads; ++i) threads.emplace_back([this] { work(); });
    threads.clear();
    if (progress_.cancelled) return errno_error(ECANCELED);
    if (failure_.code == 0) return std::move(objects_);
    progress_.failed_at = scan_.shown + " (" + failure_.text + ")";
    return errno_error(failure_.code);
  }

 private:
  struct Task {
    std::string prefix;
    bool by_folder = false;
    std::optional<FolderGroup> group;  // of `prefix`; nullopt: all that is below it
  };

  void work() {
    while (auto task = next()) {
      Failure failure = list_all(*task);
      const std::lock_guard lock(mutex_);
      if (failure.code != 0 && failure_.code == 0) failure_ = std::move(failure);
      --busy_;
      changed_.notify_all();
    }
  }

  std::optional<Task> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !pending_.empty() || busy_ == 0 || is_over(); });
    if (pending_.empty() || is_over()) return std::nullopt;
    Task task = std::move(pending_.front());
    pending_.pop_front();
    task.by_folder = !task.group && found_folders_ < kEnoughFolders;
    ++busy_;
    return task;
  }

  bool is_over() const { return failure_.code != 0 || progress_.cancelled; }  // with mutex_ held

  Failure list_all(Task& task) {
    S3Client::ListQuery query{
        .prefix = task.prefix, .by_folder = task.by_folder, .cancelled = &progress_.cancelled};
    if (task.group) query.start_after = task.group->start_after();
    PageCheck check(query.prefix, query.start_after);
    while (!progress_.cancelled) {
      ListPage page;
      if (Failure failure = list_patiently(scan_.client, query, scan_.timeout, page); failure.code != 0)
        return failure;
      if (std::string wrong = check.take(page); !wrong.empty())
        return {.code = EPROTO, .text = std::move(wrong)};
      const std::optional<std::string> token = page.next;
      const bool ended = (task.group && task.group->take(page)) || !token;
      take(task, std::move(page), ended);
      if (ended) return {};
      query.token = *token;
    }
    return {.code = ECANCELED};
  }

  void take(Task& task, ListPage page, bool ended) {
    const std::lock_guard lock(mutex_);
    progress_.entries.fetch_add(page.objects.size(), std::memory_order_relaxed);
    std::move(page.objects.begin(), page.objects.end(), std::back_inserter(objects_));
    found_folders_ += page.prefixes.size();
    if (found_folders_ <= kManyFolders) {
      add_each(page.prefixes);
    } else if (!page.prefixes.empty()) {
      add(FolderGroup(task.prefix, {std::make_move_iterator(page.prefixes.begin()),
                                    std::make_move_iterator(page.prefixes.end())}));
    }
    if (task.group && ended) add_each(task.group->unseen());
    if (task.group && !ended && pending_.empty() && busy_ < scan_.threads)
      if (auto half = task.group->give_half()) add(std::move(*half));  // somebody has nothing to do
    changed_.notify_all();
  }

  // With mutex_ held.
  template <typename Prefixes>
  void add_each(const Prefixes& prefixes) {
    for (const std::string& prefix : prefixes) pending_.push_back({.prefix = prefix});
  }
  void add(FolderGroup group) {
    const std::string prefix = group.parent();
    pending_.push_back({.prefix = prefix, .group = std::move(group)});
  }

  const S3Scan& scan_;
  ScanProgress& progress_;
  std::mutex mutex_;  // guards all below; never held over a request
  std::condition_variable changed_;
  std::deque<Task> pending_;
  std::vector<ListedObject> objects_;
  std::size_t found_folders_ = 0;
  std::size_t busy_ = 0;
  Failure failure_;
};

}  // namespace

Failure list_patiently(S3Client& client, const S3Client::ListQuery& query, std::chrono::milliseconds timeout,
                       ListPage& page) {
  const auto began = Clock::now();
  BackOff back_off;
  while (true) {
    Failure failure = client.list(query, page);
    if (failure.code == 0 || !is_passing(errno_error(failure.code))) return failure;
    const auto pause = back_off.next();
    if (timeout.count() > 0 && Clock::now() - began + pause >= timeout) return failure;
    if (!sleep_unless_cancelled(pause, query.cancelled)) return {.code = ECANCELED};
  }
}

Result<std::vector<ListedObject>> scan_bucket(const S3Scan& scan, ScanProgress& progress) {
  return Scanner(scan, progress).run();
}

}  // namespace winnow::s3
