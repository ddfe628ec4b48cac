#include "fs/generated_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <memory>

namespace winnow {

namespace {

Timestamp now_after(const Timestamp& before) {
  timespec clock{};
  clock_gettime(CLOCK_REALTIME, &clock);
  const Timestamp now{clock.tv_sec, static_cast<std::uint32_t>(clock.tv_nsec)};
  if (now > before) return now;
  return before.nanoseconds + 1 < 1'000'000'000 ? Timestamp{before.seconds, before.nanoseconds + 1}
                                                : Timestamp{before.seconds + 1, 0};
}

Bytes to_bytes(const std::string& text) {
  auto bytes = std::make_shared_for_overwrite<std::byte[]>(text.size());
  std::memcpy(bytes.get(), text.data(), text.size());
  return Bytes(std::move(bytes), text.size());
}

}  // namespace

std::uint64_t GeneratedFiles::microseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

void GeneratedFiles::add(std::string name, std::function<std::string()> make) {
  files_.push_back({std::move(name), std::move(make)});
}

std::optional<std::size_t> GeneratedFiles::find(std::string_view name) const {
  for (std::size_t file = 0; file < files_.size(); ++file) {
    if (files_[file].name == name) return file;
  }
  return std::nullopt;
}

FileStat GeneratedFiles::stat(std::size_t) const {
  return {.mode = S_IFREG | 0444, .uid = getuid(), .gid = getgid(), .links = 1};
}

GeneratedFiles::Edition GeneratedFiles::make(std::size_t file) const {
  std::string text = files_[file].make();
  if (text.empty() || text.back() != '\n') text += '\n';
  Edition edition{.file = file, .stat = stat(file), .text = to_bytes(text)};
  edition.stat.version.size = text.size();
  return edition;
}

void GeneratedFiles::keep(Edition& edition) {
  last_time_ = now_after(last_time_);
  edition.stat.version.mtime = edition.stat.version.ctime = edition.stat.birth = last_time_;
  editions_[edition.number] = edition;
  if (editions_.size() > kMaxEditions) editions_.erase(editions_.begin());
}

GeneratedFiles::Edition GeneratedFiles::publish(std::size_t file) {
  Edition edition = make(file);
  const std::lock_guard lock(mutex_);
  edition.number = ++last_number_;
  keep(edition);
  return edition;
}

std::optional<GeneratedFiles::Edition> GeneratedFiles::edition(std::size_t file, std::uint64_t number) {
  const auto known = [&]() -> std::optional<Edition> {
    const auto found = editions_.find(number);
    return found == editions_.end() ? std::nullopt : std::optional(found->second);
  };
  {
    const std::lock_guard lock(mutex_);
    const bool is_before_us = number > 0 && number <= first_number_ && file < files_.size();
    if (auto found = known(); found || !is_before_us) return found;
  }
  Edition again = make(file);
  again.number = number;
  const std::lock_guard lock(mutex_);
  if (auto found = known()) return found;  // another request of the same reader was faster
  keep(again);
  return again;
}

void GeneratedFiles::forget(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  editions_.erase(number);
}

}  // namespace winnow
