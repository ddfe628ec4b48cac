#include "fs/catalogue.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cache/beneath.h"
#include "cache/file_descriptor.h"
#include "cache/result.h"

namespace winnow {

namespace {

using catalogue_format::Header;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw StartupError("state file " + path + " " + why + "; remove it to have the source scanned anew");
}

// The sections' sizes as the header claims them, or nullopt if they do not fit in 64 bits.
std::optional<std::uint64_t> claimed_bytes(const Header& header) {
  if (header.rows > UINT32_MAX || header.entries > UINT32_MAX || header.owners > UINT32_MAX)
    return std::nullopt;
  if (header.text_bytes > UINT32_MAX) return std::nullopt;
  return sizeof(Header) + header.rows * sizeof(catalogue_format::Row) +
         header.entries * sizeof(catalogue_format::Entry) + header.owners * sizeof(catalogue_format::Owner) +
         header.text_bytes;
}

}  // namespace

Catalogue::Catalogue(const std::string& path) {
  map(path);
  try {
    check(path);
  } catch (...) {
    munmap(mapping_, mapped_bytes_);
    throw;
  }
  madvise(mapping_, mapped_bytes_, MADV_DONTNEED);  // the check touched all of it; come back what is used
  const auto* at = static_cast<const std::byte*>(mapping_) + sizeof(Header);
  rows_ = reinterpret_cast<const Row*>(at);
  entries_ = reinterpret_cast<const Entry*>(rows_ + header_->rows);
  owners_ = reinterpret_cast<const catalogue_format::Owner*>(entries_ + header_->entries);
  text_ = reinterpret_cast<const char*>(owners_ + header_->owners);
}

Catalogue::~Catalogue() { munmap(mapping_, mapped_bytes_); }

void Catalogue::map(const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    throw StartupError("state file " + path + " cannot be read: " + errno_text(errno) +
                       "; remove it to have the source scanned anew");
  struct stat found {};
  if (fstat(fd.get(), &found) != 0) throw StartupError("state file " + path + ": " + errno_text(errno));
  mapped_bytes_ = static_cast<std::size_t>(found.st_size);
  if (mapped_bytes_ < sizeof(Header)) refuse(path, "is cut short");
  mapping_ = mmap(nullptr, mapped_bytes_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (mapping_ == MAP_FAILED) {
    throw StartupError("state file " + path + " cannot be mapped: " + errno_text(errno) +
                       "; free memory or address space");
  }
  header_ = static_cast<const Header*>(mapping_);
}

// After this, every offset in the file may be trusted: only what we wrote has our checksums.
void Catalogue::check(const std::string& path) const {
  if (header_->magic != catalogue_format::kMagic) refuse(path, "is not a Winnow catalogue");
  if (header_->version != catalogue_format::kFormatVersion) {
    refuse(path, "has format " + std::to_string(header_->version) + ", and this winnow reads format " +
                     std::to_string(catalogue_format::kFormatVersion));
  }
  if (header_->header_checksum != XXH3_64bits(header_, offsetof(Header, header_checksum))) {
    refuse(path, "is corrupt (its header's checksum differs)");
  }
  if (claimed_bytes(*header_) != mapped_bytes_) refuse(path, "is cut short or has something appended");
  const auto* body = static_cast<const std::byte*>(mapping_) + sizeof(Header);
  if (header_->body_checksum != XXH3_64bits(body, mapped_bytes_ - sizeof(Header))) {
    refuse(path, "is corrupt (its checksum differs)");
  }
}

LeftOut Catalogue::left_out() const {
  return {.special = header_->left_out_special,
          .unreadable = header_->left_out_unreadable,
          .reserved = header_->left_out_reserved,
          .links = header_->left_out_links};
}

const Catalogue::Row* Catalogue::find(NodeId id) const {
  // Ids ascend from 1 without repeats, so row i has an id of at least i + 1: without holes, the first guess
  // is right, and with holes the row lies below it.
  const std::uint64_t wanted = value(id);
  if (wanted == 0 || wanted >= header_->next_id) return nullptr;
  if (wanted <= header_->rows && rows_[wanted - 1].id == wanted) return &rows_[wanted - 1];
  const Row* end = rows_ + std::min(wanted, header_->rows);
  const Row* found = std::lower_bound(rows_, end, wanted,
                                      [](const Row& row, std::uint64_t other) { return row.id < other; });
  return found != end && found->id == wanted ? found : nullptr;
}

std::span<const Catalogue::Entry> Catalogue::entries(const Row& folder) const {
  return {entries_ + folder.first, folder.count};
}

std::size_t Catalogue::lower_bound(const Row& folder, std::uint64_t hash_at_least) const {
  const auto all = entries(folder);
  return static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), hash_at_least,
                                                   [this](const Entry& entry, std::uint64_t wanted) {
                                                     return hash(name(entry)) < wanted;
                                                   }) -
                                  all.begin());
}

const Catalogue::Entry* Catalogue::find(const Row& folder, std::string_view wanted) const {
  const auto all = entries(folder);
  const std::size_t at = lower_bound(folder, hash(wanted));
  return at < all.size() && name(all[at]) == wanted ? &all[at] : nullptr;
}

FileStat Catalogue::stat(const Row& row) const {
  const catalogue_format::Owner& owner = owners_[row.owner];
  return {.mode = owner.mode,
          .uid = owner.uid,
          .gid = owner.gid,
          .links = row.links,
          .version = {.tag = row.tag,
                      .device = row.device,
                      .size = row.size,
                      .mtime = {row.mtime_seconds, row.mtime_nanoseconds},
                      .ctime = {row.ctime_seconds, row.ctime_nanoseconds}},
          .birth = {row.birth_seconds, row.birth_nanoseconds}};
}

std::string Catalogue::path(const Row& row) const {
  std::vector<const Row*> chain;
  for (const Row* at = &row; at != rows_; at = &rows_[at->folder]) chain.push_back(at);
  return std::accumulate(
      chain.rbegin(), chain.rend(), std::string(),
      [this](const std::string& folder, const Row* at) { return join_path(folder, name(*at)); });
}

std::uint64_t Catalogue::name_hash(std::uint64_t salt, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), salt) >> 2;
}

bool is_folder(const FileStat& stat) { return S_ISDIR(stat.mode); }
bool is_regular(const FileStat& stat) { return S_ISREG(stat.mode); }
bool is_symlink(const FileStat& stat) { return S_ISLNK(stat.mode); }

}  // namespace winnow
