#include "fs/reader_jobs.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace winnow {

namespace {

// Listings are in the order of the names' hashes.
EpochWatch::Step step_from(const Catalogue& catalogue, std::string_view before, std::string_view path) {
  while (true) {
    const auto part = path.substr(0, path.find('/'));
    const auto part_before = before.substr(0, before.find('/'));
    if (part != part_before) {
      return {.behind_by_name = part > part_before,
              .behind_by_listing = catalogue.hash(part) > catalogue.hash(part_before)};
    }
    if (part.size() == path.size() || part_before.size() == before.size()) return {};  // the same file
    path.remove_prefix(part.size() + 1);
    before.remove_prefix(part_before.size() + 1);
  }
}

// The step from the last read of the same thread; nothing if this is its first.
std::optional<EpochWatch::Step> step_of(ReaderJob& job, const Catalogue& catalogue, int thread, std::string path) {
  for (ReaderJob::LastRead& last : job.last_reads) {
    if (last.thread != thread) continue;
    const EpochWatch::Step step = step_from(catalogue, last.path, path);
    last.path = std::move(path);
    return step;
  }
  if (job.last_reads.size() < ReaderJobs::kMostReaders) {
    job.last_reads.push_back({thread, std::move(path)});
  } else {
    job.last_reads[job.next_place++ % ReaderJobs::kMostReaders] = {thread, std::move(path)};
  }
  return std::nullopt;
}

}  // namespace

std::string top_folder_of(std::string_view path) {
  const auto end = path.find('/');
  return std::string(end == std::string_view::npos ? std::string_view() : path.substr(0, end));
}

ReaderJob& ReaderJobs::at(int group, std::uint64_t samples, Clock::time_point now) {
  if (const auto found = jobs_.find(group); found != jobs_.end()) return found->second;
  if (jobs_.size() >= kMost) {
    jobs_.erase(std::min_element(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) {
      return a.second.last_seen < b.second.last_seen;
    }));
  }
  ReaderJob& job = jobs_.try_emplace(group, samples).first->second;
  job.last_seen = now;
  return job;
}

ReaderJobs::News ReaderJobs::on_access(const Tree& tree, const Node& file, int group, int thread, Clock::time_point now) {
  ReaderJob& job = at(group, tree.catalogue().header().files, now);
  job.last_seen = now;
  News news{.group = group};
  std::optional<EpochWatch::Step> step;
  if (!job.watch.is_job() || job.watch.may_be_part()) {
    std::string path = tree.path(file);
    std::string folder = top_folder_of(path);
    if (job.top_folders.insert(folder).second && job.watch.is_job()) news.new_folder = std::move(folder);
    if (!job.watch.is_job()) step = step_of(job, tree.catalogue(), thread, std::move(path));
  }
  news.begins_epoch = job.watch.on_read(sample_of(file.id), step) != EpochWatch::Seen::kNothing;
  if (job.watch.is_job()) job.last_reads = {};
  return news;
}

const ReaderJob* ReaderJobs::find(int group) const {
  const auto found = jobs_.find(group);
  return found == jobs_.end() ? nullptr : &found->second;
}

bool ReaderJobs::was_read(SampleId id, const ReaderJob& job) const {
  if (job.watch.has_read(id)) return true;
  return job.watch.may_be_part() && std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
           const EpochWatch& other = entry.second.watch;
           return other.is_job() && other.may_be_part() && other.has_read(id);
         });
}

void ReaderJobs::forget_gone(Clock::time_point now, const std::function<bool(int)>& is_alive) {
  std::erase_if(jobs_, [&](const auto& entry) {
    return now - entry.second.last_seen >= kLongestSilence || !is_alive(entry.first);
  });
}

int ReaderGroups::of(int thread) {
  if (thread <= 0) return 0;
  const int group = getpgid(thread);
  const auto known = known_.find(thread);
  if (group <= 0) return known == known_.end() ? 0 : known->second;
  if (known != known_.end()) return known->second = group;
  if (known_.size() == kMost) known_.clear();
  return known_[thread] = group;
}

bool is_group_alive(int group) { return group == 0 || kill(-group, 0) == 0 || errno == EPERM; }

}  // namespace winnow
