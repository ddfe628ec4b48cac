#include "fs/read_path.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace winnow {

namespace {

// How often a read follows a file that changes only its ctime, or is gone and back, before it gives up.
constexpr int kTries = 4;

}  // namespace

ReadPath::ReadPath(Source& source, ByteTier& tier, Snapshots& snapshots, KernelCache& kernel,
                   WorkerPool& notifications, PageTier* pages, FetchOptions options)
    : tier_(tier),
      snapshots_(snapshots),
      kernel_(kernel),
      notifications_(notifications),
      pages_(pages),
      fetcher_(source, tier, options,
               [this](const FlightPtr& flight, const Bytes& bytes) { push_rest(flight, bytes); }) {}

void ReadPath::read(const Tree& tree, const Node& file, std::uint64_t offset, std::size_t size,
                    BytesWaiter reply) {
  const std::uint64_t file_size = file.stat.version.size;
  if (offset >= file_size) return reply(Bytes());
  if (offset == 0) misses_.fetch_add(1, std::memory_order_relaxed);
  const Range asked{offset, std::min<std::uint64_t>(size, file_size - offset)};
  fetch({sample_of(file.id), tree.path(file), file.stat.version}, asked, kTries, std::move(reply));
}

void ReadPath::fetch(const FileRef& file, Range asked, int tries_left, BytesWaiter reply) {
  fetcher_.read(file, asked, [this, file, asked, tries_left, reply = std::move(reply)](Result<Bytes> bytes) {
    if (bytes) tier_.touch(file.id);
    if (bytes && pages_ != nullptr) pages_->note_read(file, bytes.value().size());
    if (!bytes && means_changed(bytes.error())) return examine(file, asked, tries_left, reply);
    if (!bytes) note_failed(file, bytes.error());
    reply(std::move(bytes));
  });
}

void ReadPath::note_failed(const FileRef& file, const std::error_code& error) {
  const auto line = failures_.note("a read of " + file.path + " failed: " + error.message(), FailureLog::Clock::now());
  if (line) spdlog::warn("{}; winnow status tells how many", *line);
}

// Runs on the fetch thread, where waiting for the source is allowed.
void ReadPath::examine(const FileRef& file, Range asked, int tries_left, BytesWaiter reply) {
  Snapshots::Verdict verdict = look_again(file);
  if (verdict.kind == Snapshots::Verdict::Kind::kError) return reply(verdict.error);
  if (verdict.kind == Snapshots::Verdict::Kind::kRetry) {
    if (tries_left == 0) return reply(errno_error(ESTALE));
    FileRef again = file;
    again.version = verdict.version;
    return fetch(again, asked, tries_left - 1, std::move(reply));
  }
  refuse_as_stale(std::move(verdict.names), std::move(reply));
}

Snapshots::Verdict ReadPath::look_again(const FileRef& file) {
  const bool served = pages_ == nullptr || pages_->was_served(file.id);
  Snapshots::Verdict verdict = snapshots_.examine(file, served);
  if (verdict.adopted) {
    notifications_.submit(WorkerPool::Urgency::kBackground, 0,
                          [this, id = file.id] { kernel_.invalidate_attributes(node_of(id)); });
  }
  if (verdict.noticed_first) stale_.fetch_add(1, std::memory_order_relaxed);
  return verdict;
}

void ReadPath::note_changed(const FileRef& file) {
  Snapshots::Verdict verdict = look_again(file);
  if (verdict.kind == Snapshots::Verdict::Kind::kStale)
    refuse_as_stale(std::move(verdict.names), [](Result<Bytes>) {});
}

// Every reader waits for the kernel to be told, not only the one who noticed: whoever opens the name again
// must find the new file.
void ReadPath::refuse_as_stale(std::vector<Name> names, BytesWaiter reply) {
  const bool taken =
      !names.empty() && notifications_.submit(WorkerPool::Urgency::kDemand, 0, [this, names, reply] {
        for (const Name& name : names) {
          invalidate_name_in_views(kernel_, name.folder, name.name);
          invalidate_folder_in_views(kernel_, name.folder);
        }
        reply(errno_error(ESTALE));
      });
  if (!taken) reply(errno_error(ESTALE));
}

void ReadPath::push_rest(const FlightPtr& flight, const Bytes& bytes) {
  if (pages_ == nullptr || fetcher_.unanswered(flight).empty()) return fetcher_.retire(flight);
  pages_->push(rest_of(flight, bytes));
}

std::uint64_t ReadPath::bring_near(std::vector<FileRef> files) {
  std::uint64_t pushed = 0;
  fetcher_.bring_from_tier(std::move(files), [&](const FlightPtr& flight, const Bytes& bytes) {
    pages_->push_here(rest_of(flight, bytes));
    pushed += bytes.size();
  });
  return pushed;
}

PageTier::Push ReadPath::rest_of(const FlightPtr& flight, const Bytes& bytes) {
  return {.file = flight->file,
          .offset = flight->range.offset,
          .bytes = bytes,
          .ahead = flight->prefetched,
          .near = flight->is_near,
          .missing =
              [this, flight] {
                // Pages that another fetch's readers wait for are locked, perhaps for long: stay away.
                if (fetcher_.has_waiting_reader(flight->file.id)) return std::vector<Range>();
                return fetcher_.unanswered(flight);
              },
          .done = [this, flight] { fetcher_.retire(flight); }};
}

}  // namespace winnow
