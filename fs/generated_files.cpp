#include "fs/generated_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

namespace winnow {

namespace {

Timestamp now() {
  timespec at{};
  clock_gettime(CLOCK_REALTIME, &at);
  return {at.tv_sec, static_cast<std::uint32_t>(at.tv_nsec)};
}

Timestamp later_than(const Timestamp& before) {
  Timestamp at = now();
  if (at > before) return at;
  at = before;
  if (++at.nanoseconds == 1'000'000'000) at = {before.seconds + 1, 0};
  return at;
}

}  // namespace

void GeneratedFiles::add(std::string name, std::function<std::string()> make) {
  auto file = std::make_unique<File>();
  file->name = std::move(name);
  file->make = std::move(make);
  file->stat = {.mode = S_IFREG | 0444, .uid = getuid(), .gid = getgid(), .links = 1};
  file->stat.birth = now();
  files_.push_back(std::move(file));
}

std::size_t GeneratedFiles::find(std::string_view name) const {
  std::size_t i = 0;
  while (i < files_.size() && files_[i]->name != name) ++i;
  return i;
}

FileStat GeneratedFiles::renew(std::size_t index) {
  File& file = *files_[index];
  const std::string text = file.make();
  const std::lock_guard lock(file.mutex);
  const std::size_t rounded = (text.size() + kSizeStep) / kSizeStep * kSizeStep;
  const std::size_t size = std::max<std::size_t>(rounded, file.stat.version.size);
  auto bytes = std::make_shared_for_overwrite<std::byte[]>(size);
  std::memcpy(bytes.get(), text.data(), text.size());
  std::memset(bytes.get() + text.size(), '\n', size - text.size());
  file.content = Bytes(std::move(bytes), size);
  file.stat.version.size = size;
  file.stat.version.mtime = later_than(file.stat.version.mtime);
  file.stat.version.ctime = file.stat.version.mtime;
  return file.stat;
}

Bytes GeneratedFiles::read(std::size_t index, std::uint64_t offset, std::size_t size) {
  File& file = *files_[index];
  const std::lock_guard lock(file.mutex);
  return file.content.part(offset, size);
}

}  // namespace winnow
