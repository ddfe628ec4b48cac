#include "fs/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <cstddef>
#include <cstring>

#include "cache/result.h"

namespace winnow {

namespace {

// One record, as it lies on disk. The first one of a file names the snapshot in `id` and has row kOpening.
struct Record {
  std::uint64_t id;
  std::uint64_t size;
  std::uint64_t tag;
  std::int64_t mtime_seconds;
  std::int64_t ctime_seconds;
  std::int64_t birth_seconds;
  std::uint32_t mtime_nanoseconds;
  std::uint32_t ctime_nanoseconds;
  std::uint32_t birth_nanoseconds;
  std::uint32_t row;
  std::uint32_t mode;
  std::uint32_t uid;
  std::uint32_t gid;
  std::uint32_t links;
  std::uint32_t device;
  std::uint32_t unused;
  std::uint64_t checksum;  // XXH3 of all before it
};
static_assert(sizeof(Record) == 96);

constexpr std::uint32_t kOpening = UINT32_MAX;

std::uint64_t checksum(const Record& record) { return XXH3_64bits(&record, offsetof(Record, checksum)); }

Record to_record(const Amendment& amendment) {
  const FileStat& stat = amendment.stat;
  Record record{.id = amendment.id,
                .size = stat.version.size,
                .tag = stat.version.tag,
                .mtime_seconds = stat.version.mtime.seconds,
                .ctime_seconds = stat.version.ctime.seconds,
                .birth_seconds = stat.birth.seconds,
                .mtime_nanoseconds = stat.version.mtime.nanoseconds,
                .ctime_nanoseconds = stat.version.ctime.nanoseconds,
                .birth_nanoseconds = stat.birth.nanoseconds,
                .row = amendment.row,
                .mode = stat.mode,
                .uid = stat.uid,
                .gid = stat.gid,
                .links = stat.links,
                .device = stat.version.device,
                .unused = 0,
                .checksum = 0};
  record.checksum = checksum(record);
  return record;
}

Amendment to_amendment(const Record& record) {
  return {.row = record.row,
          .id = record.id,
          .stat = {.mode = record.mode,
                   .uid = record.uid,
                   .gid = record.gid,
                   .links = record.links,
                   .version = {.tag = record.tag,
                               .device = record.device,
                               .size = record.size,
                               .mtime = {record.mtime_seconds, record.mtime_nanoseconds},
                               .ctime = {record.ctime_seconds, record.ctime_nanoseconds}},
                   .birth = {record.birth_seconds, record.birth_nanoseconds}}};
}

}  // namespace

Journal::Journal(const std::string& path, std::uint64_t snapshot)
    : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0600)) {
  if (!fd_) throw StartupError("state file " + path + " cannot be written: " + errno_text(errno));
  recover(snapshot);
}

void Journal::recover(std::uint64_t snapshot) {
  Record record{};
  off_t good = 0;
  while (pread(fd_.get(), &record, sizeof record, good) == sizeof record &&
         record.checksum == checksum(record)) {
    const bool opens = record.row == kOpening;
    if (good == 0 && (!opens || record.id != snapshot)) break;
    if (!opens) recovered_.push_back(to_amendment(record));
    good += sizeof record;
  }
  // What follows the last good record is torn or another snapshot's; appending behind it would lose ours.
  if (ftruncate(fd_.get(), good) == 0 && good == 0) append({.row = kOpening, .id = snapshot});
}

void Journal::append(const Amendment& amendment) {
  const Record record = to_record(amendment);
  const off_t before = lseek(fd_.get(), 0, SEEK_END);
  const ssize_t written = write(fd_.get(), &record, sizeof record);
  // A record cut off by a full disk would hide all that follow it.
  if (written > 0 && written < static_cast<ssize_t>(sizeof record)) (void)!ftruncate(fd_.get(), before);
}

}  // namespace winnow
