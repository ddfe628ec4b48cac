#include "cache/disk/index_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace winnow {

using disk_format::IndexHeader;
using disk_format::IndexRecord;

namespace {

template <typename T>
std::uint64_t checksum_of(const T& checked) {
  return XXH3_64bits(reinterpret_cast<const char*>(&checked) + sizeof checked.checksum,
                     sizeof checked - sizeof checked.checksum);
}

IndexHeader make_header(const std::string& identity, IndexFile::Geometry geometry) {
  const XXH128_hash_t hash = XXH3_128bits(identity.data(), identity.size());
  IndexHeader header{.magic = disk_format::kIndexMagic,
                     .format = disk_format::kDiskFormat,
                     .unit_bytes = geometry.unit_bytes,
                     .identity_low = hash.low64,
                     .identity_high = hash.high64,
                     .slab_bytes = geometry.slab_bytes,
                     .identity = {}};
  std::copy_n(identity.begin(), std::min(identity.size(), header.identity.size() - 1),
              header.identity.begin());
  header.checksum = checksum_of(header);
  return header;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& thing) {
  return std::as_bytes(std::span(&thing, 1));
}

}  // namespace

bool IndexFile::good(const IndexRecord& record) { return record.checksum == checksum_of(record); }
void IndexFile::seal(IndexRecord& record) { record.checksum = checksum_of(record); }

IndexFile::IndexFile(BlockIo& io, std::string folder, const std::string& source_identity, Geometry geometry)
    : io_(io), folder_(std::move(folder)) {
  fd_.reset(open((folder_ + "/index").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd_) {
    throw StartupError("disk tier " + folder_ + " cannot be written: " + errno_text(errno) +
                       "; mend that or give another --disk-dir");
  }
  if (!read_header(source_identity)) {
    header_ = make_header(source_identity, geometry);
    start_over();
  }
  unlink((folder_ + "/index.new").c_str());  // of a compaction that was interrupted
}

bool IndexFile::read_header(const std::string& source_identity) {
  struct stat facts {};
  if (fstat(fd_.get(), &facts) != 0) {
    throw StartupError("disk tier " + folder_ + " cannot be read: " + errno_text(errno));
  }
  if (facts.st_size == 0) return false;
  IndexHeader found{};
  const ssize_t count = pread(fd_.get(), &found, sizeof found, 0);
  if (count < 0) throw StartupError("disk tier " + folder_ + " cannot be read: " + errno_text(errno));
  if (count >= 16 && found.magic != disk_format::kIndexMagic && found.magic != 0) {
    throw StartupError(folder_ + "/index is not a winnow disk tier's; give another --disk-dir");
  }
  if (count < static_cast<ssize_t>(sizeof found) || found.checksum != checksum_of(found)) {
    started_over_ = true;  // cut off or flipped: what it led to cannot be told, so the tier begins empty
    return false;
  }
  if (found.format != disk_format::kDiskFormat) {
    throw StartupError("disk tier " + folder_ + " has format " + std::to_string(found.format) +
                       ", this winnow reads " + std::to_string(disk_format::kDiskFormat) +
                       "; remove the folder or give another --disk-dir");
  }
  const IndexHeader ours = make_header(source_identity, {});
  if (found.identity_low != ours.identity_low || found.identity_high != ours.identity_high) {
    found.identity.back() = '\0';
    throw StartupError("disk tier " + folder_ + " belongs to another source (" + found.identity.data() +
                       "); give another --disk-dir, or remove the folder to use it for this one");
  }
  const bool known_unit = found.unit_bytes == 512 || found.unit_bytes == 4096;
  if (!known_unit || found.slab_bytes == 0 || found.slab_bytes % found.unit_bytes != 0) {
    throw StartupError("disk tier " + folder_ + " has slabs of " + std::to_string(found.slab_bytes) +
                       " bytes in units of " + std::to_string(found.unit_bytes) +
                       ", which this winnow cannot use; remove the folder or give another --disk-dir");
  }
  header_ = found;
  records_ = (static_cast<std::uint64_t>(facts.st_size) - sizeof found) / sizeof(IndexRecord);
  return true;
}

void IndexFile::start_over() {
  records_ = 0;
  const bool made = ftruncate(fd_.get(), 0) == 0 && io_.append(fd_.get(), 0, bytes_of(header_)).has_value();
  if (!made) {
    throw StartupError("disk tier " + folder_ + " cannot be written: " + errno_text(errno) +
                       "; mend that or give another --disk-dir");
  }
}

IndexFile::Replayed IndexFile::replay(const std::function<void(const IndexRecord&)>& visit) {
  Replayed result{.started_over = started_over_};
  std::vector<IndexRecord> some(16384);
  for (std::uint64_t at = 0; at < records_;) {
    const std::size_t want = std::min<std::uint64_t>(some.size(), records_ - at);
    const ssize_t count = pread(fd_.get(), some.data(), want * sizeof(IndexRecord),
                                static_cast<off_t>(sizeof(IndexHeader) + at * sizeof(IndexRecord)));
    const std::size_t got = count < 0 ? 0 : static_cast<std::size_t>(count) / sizeof(IndexRecord);
    for (std::size_t i = 0; i < got; ++i) {
      if (good(some[i])) {
        visit(some[i]);
      } else {
        ++result.bad_records;
      }
    }
    if (got == 0) {  // unreadable here: what follows may still be good
      result.bad_records += want;
      at += want;
    }
    at += got;
  }
  return result;
}

Result<void> IndexFile::append(std::span<IndexRecord> records) {
  if (records.empty()) return BOOST_OUTCOME_V2_NAMESPACE::success();
  for (IndexRecord& record : records) seal(record);
  BOOST_OUTCOME_TRY(io_.append(fd_.get(), bytes(), std::as_bytes(records)));
  records_ += records.size();
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

Result<void> IndexFile::compact(std::span<IndexRecord> live) {
  const std::string path = folder_ + "/index.new";
  FileDescriptor fresh(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fresh) return last_error();
  for (IndexRecord& record : live) seal(record);
  Result<void> written = io_.append(fresh.get(), 0, bytes_of(header_));
  if (written && !live.empty()) written = io_.append(fresh.get(), sizeof header_, std::as_bytes(live));
  if (written && fsync(fresh.get()) != 0) written = last_error();
  if (written && rename(path.c_str(), (folder_ + "/index").c_str()) != 0) written = last_error();
  if (!written) {
    unlink(path.c_str());
    return written;
  }
  fd_ = std::move(fresh);
  records_ = live.size();
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

}  // namespace winnow
