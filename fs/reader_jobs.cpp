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

ReaderJobs::News ReaderJobs::on_access(const Tree& tree, const Node& file, int group, Clock::time_point now) {
  ReaderJob& job = at(group, tree.catalogue().header().files, now);
  job.last_seen = now;
  News news{.group = group};
  EpochWatch::Step step;
  if (!job.watch.is_job() || job.watch.epoch() == 1) {
    std::string path = tree.path(file);
    step = step_from(tree.catalogue(), job.last_path, path);
    news.new_folder = job.top_folders.insert(top_folder_of(path)).second && job.watch.is_job();
    job.last_path = std::move(path);
  }
  news.begins_epoch = job.watch.on_read(sample_of(file.id), step) != EpochWatch::Seen::kNothing;
  return news;
}

const ReaderJob* ReaderJobs::find(int group) const {
  const auto found = jobs_.find(group);
  return found == jobs_.end() ? nullptr : &found->second;
}

bool ReaderJobs::was_read(SampleId id) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    return entry.second.watch.is_job() && entry.second.watch.has_read(id);
  });
}

std::vector<int> ReaderJobs::forget_gone(Clock::time_point now, const std::function<bool(int)>& is_alive) {
  std::vector<int> gone;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const bool stays = now - at->second.last_seen < kLongestSilence && is_alive(at->first);
    if (!stays && at->second.watch.is_job()) gone.push_back(at->first);
    at = stays ? std::next(at) : jobs_.erase(at);
  }
  return gone;
}

int group_of(int pid) {
  const int group = pid > 0 ? getpgid(pid) : -1;
  return group > 0 ? group : 0;
}

bool is_group_alive(int group) { return group == 0 || kill(-group, 0) == 0 || errno == EPERM; }

}  // namespace winnow
