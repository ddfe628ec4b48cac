#include "cache/s3/s3_scan.h"

#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>

#include "cache/back_off.h"

namespace winnow::s3 {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kEnoughFolders = 64;
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
    pending_.push_back(scan_.prefix);
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
  };

  void work() {
    while (const auto task = next()) {
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
    Task task{std::move(pending_.front()), found_folders_ < kEnoughFolders};
    pending_.pop_front();
    ++busy_;
    return task;
  }

  bool is_over() const { return failure_.code != 0 || progress_.cancelled; }  // with mutex_ held

  Failure list_all(const Task& task) {
    S3Client::ListQuery query{
        .prefix = task.prefix, .by_folder = task.by_folder, .cancelled = &progress_.cancelled};
    while (!progress_.cancelled) {
      ListPage page;
      if (Failure failure = list_patiently(scan_.client, query, scan_.timeout, page); failure.code != 0)
        return failure;
      for (const ListedObject& object : page.objects)
        if (!object.key.starts_with(task.prefix))
          return {.code = EPROTO, .text = "keys that were not asked for"};
      const std::optional<std::string> token = page.next;
      take(std::move(page));
      if (!token) return {};
      if (*token == query.token) return {.code = EPROTO, .text = "the same page again and again"};
      query.token = *token;
    }
    return {.code = ECANCELED};
  }

  void take(ListPage page) {
    const std::lock_guard lock(mutex_);
    progress_.entries.fetch_add(page.objects.size(), std::memory_order_relaxed);
    found_folders_ += page.prefixes.size();
    std::move(page.objects.begin(), page.objects.end(), std::back_inserter(objects_));
    std::move(page.prefixes.begin(), page.prefixes.end(), std::back_inserter(pending_));
    changed_.notify_all();
  }

  const S3Scan& scan_;
  ScanProgress& progress_;
  std::mutex mutex_;  // guards all below; never held over a request
  std::condition_variable changed_;
  std::deque<std::string> pending_;
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
