#include "fs/catalogue_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <tuple>
#include <unordered_map>

#include "cache/file_descriptor.h"
#include "cache/result.h"
#include "fs/checked_file.h"

namespace winnow {

namespace {

using catalogue_format::Entry;
using catalogue_format::Header;
using catalogue_format::Owner;
using catalogue_format::Row;

constexpr std::uint32_t kNone = UINT32_MAX;

// The listing, turned into rows and entries. All arrays are indexed as the listing's entries are.
class Draft {
 public:
  Draft(const Listing& listing, const Tree* previous) : listing_(listing), previous_(previous) {
    join_hard_links();
    sort_names();
    carry_ids();
    give_ids();
    lay_out_rows();
    lay_out_text();
  }

  void write(CheckedFile& file, const SnapshotFacts& facts) const;

 private:
  void join_hard_links();
  void sort_names();
  bool sort_names_with(std::uint64_t salt);
  void carry_ids();
  std::optional<Node> carried(std::uint32_t i) const;
  void give_ids();
  void lay_out_rows();
  void lay_out_text();
  Row make_row(std::uint32_t i) const;
  Header make_header(const SnapshotFacts& facts) const;

  const FileStat& stat(std::uint32_t i) const { return listing_.entries[i].stat; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(listing_.entries.size()); }

  const Listing& listing_;
  const Tree* previous_;
  std::uint64_t salt_ = 0;
  std::uint64_t next_id_ = 2;
  std::vector<std::uint32_t> first_link_;   // of a hard-linked file: its first entry; else the entry itself
  std::vector<std::uint32_t> order_;        // all but the root, by folder and name hash
  std::vector<std::uint32_t> first_entry_;  // of a folder, in order_
  std::vector<std::uint32_t> entry_count_;
  std::vector<std::uint64_t> ids_;     // at first links only
  std::vector<std::uint32_t> rows_;    // first links, by ascending id
  std::vector<std::uint32_t> row_of_;  // at first links only
  std::vector<std::uint32_t> name_at_;
  std::vector<std::uint32_t> target_at_;  // symlinks only, else 0
  std::string text_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> owner_numbers_;
  std::vector<Owner> owners_;
};

void Draft::join_hard_links() {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> first;
  first_link_.resize(size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    first_link_[i] = i;
    if (!is_regular(stat(i)) || stat(i).links < 2) continue;
    first_link_[i] = first.try_emplace({stat(i).version.device, stat(i).version.tag}, i).first->second;
  }
}

void Draft::sort_names() {
  salt_ = previous_ != nullptr ? previous_->catalogue().header().salt : 0;
  while (!sort_names_with(salt_)) ++salt_;
}

// False if two names of one folder have the same hash, which would make a listing's position ambiguous.
bool Draft::sort_names_with(std::uint64_t salt) {
  std::vector<std::uint64_t> hashes(size());
  for (std::uint32_t i = 1; i < size(); ++i) {
    hashes[i] = Catalogue::name_hash(salt, listing_.name(listing_.entries[i]));
  }
  order_.resize(size() - 1);
  std::iota(order_.begin(), order_.end(), 1);
  const auto key = [&](std::uint32_t i) { return std::pair(listing_.entries[i].folder, hashes[i]); };
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  const auto same = [&](std::uint32_t a, std::uint32_t b) { return key(a) == key(b); };
  if (std::adjacent_find(order_.begin(), order_.end(), same) != order_.end()) return false;

  first_entry_.assign(size(), 0);
  entry_count_.assign(size(), 0);
  for (std::uint32_t at = 0; at < order_.size(); ++at) {
    const std::uint32_t folder = listing_.entries[order_[at]].folder;
    if (entry_count_[folder]++ == 0) first_entry_[folder] = at;
  }
  return true;
}

void Draft::carry_ids() {
  ids_.assign(size(), 0);
  ids_[0] = value(kRootNode);
  if (previous_ == nullptr) return;
  next_id_ = previous_->next_id();
  std::vector<std::uint32_t> taken(previous_->catalogue().row_count(), kNone);
  for (std::uint32_t i = 1; i < size(); ++i) {
    const auto old = carried(i);
    if (!old) continue;
    // One old row goes to one new row only: hard links that came apart must not share an id.
    std::uint32_t& taker = taken[old->row];
    const std::uint32_t mine = first_link_[i];
    if (taker != kNone && taker != mine) continue;
    if (ids_[mine] == 0) {
      ids_[mine] = value(old->id);
      taker = mine;
    }
  }
}

// The node of the previous tree that entry i still is.
std::optional<Node> Draft::carried(std::uint32_t i) const {
  const ListedEntry& entry = listing_.entries[i];
  const auto old_folder =
      ids_[entry.folder] != 0 ? previous_->find(NodeId{ids_[entry.folder]}) : std::nullopt;
  if (!old_folder) return std::nullopt;
  const auto old = previous_->child(*old_folder, listing_.name(entry));
  if (!old || (old->stat.mode & S_IFMT) != (entry.stat.mode & S_IFMT)) return std::nullopt;
  if (is_folder(entry.stat)) return old;
  if (!(old->stat.version == entry.stat.version)) return std::nullopt;
  if (is_symlink(entry.stat) && previous_->target(*old) != listing_.target(entry)) return std::nullopt;
  return old;
}

void Draft::give_ids() {
  // In the order of listings, so that the rows of a folder lie together.
  for (const std::uint32_t i : order_) {
    if (ids_[first_link_[i]] == 0) ids_[first_link_[i]] = next_id_++;
  }
}

void Draft::lay_out_rows() {
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (first_link_[i] == i) rows_.push_back(i);
    const auto owner = std::tuple(stat(i).mode, stat(i).uid, stat(i).gid);
    if (owner_numbers_.try_emplace(owner, static_cast<std::uint32_t>(owners_.size())).second) {
      owners_.push_back({stat(i).mode, stat(i).uid, stat(i).gid});
    }
  }
  std::sort(rows_.begin(), rows_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return ids_[a] < ids_[b]; });
  row_of_.assign(size(), 0);
  for (std::uint32_t row = 0; row < rows_.size(); ++row) row_of_[rows_[row]] = row;
}

void Draft::lay_out_text() {
  name_at_.assign(size(), 0);
  target_at_.assign(size(), 0);
  text_.push_back('\0');  // the root's name
  const auto put = [this](std::string_view words) {
    const std::size_t at = text_.size();
    text_.append(words).push_back('\0');
    if (text_.size() > UINT32_MAX)
      throw StartupError("the source's names need more than 4 GiB; mount a part of it");
    return static_cast<std::uint32_t>(at);
  };
  for (const std::uint32_t i : order_) {
    name_at_[i] = put(listing_.name(listing_.entries[i]));
    if (is_symlink(stat(i))) target_at_[i] = put(listing_.target(listing_.entries[i]));
  }
}

Row Draft::make_row(std::uint32_t i) const {
  const FileStat& at = stat(i);
  Row row{};
  row.id = ids_[i];
  row.size = at.version.size;
  row.tag = at.version.tag;
  row.mtime_seconds = at.version.mtime.seconds;
  row.ctime_seconds = at.version.ctime.seconds;
  row.birth_seconds = at.birth.seconds;
  row.mtime_nanoseconds = at.version.mtime.nanoseconds;
  row.ctime_nanoseconds = at.version.ctime.nanoseconds;
  row.birth_nanoseconds = at.birth.nanoseconds;
  row.device = at.version.device;
  row.owner = owner_numbers_.at(std::tuple(at.mode, at.uid, at.gid));
  row.links = at.links;
  row.folder = row_of_[listing_.entries[i].folder];
  row.name = name_at_[i];
  row.first = is_symlink(at) ? target_at_[i] : first_entry_[i];
  row.count = entry_count_[i];
  return row;
}

Header Draft::make_header(const SnapshotFacts& facts) const {
  Header header{};
  header.magic = catalogue_format::kMagic;
  header.version = catalogue_format::kFormatVersion;
  header.follows_symlinks = facts.follows_symlinks;
  header.rows = rows_.size();
  header.entries = order_.size();
  header.owners = owners_.size();
  header.text_bytes = text_.size() + facts.source.size() + 1;
  header.next_id = next_id_;
  header.salt = salt_;
  header.snapshot = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  header.taken_at = facts.taken_at;
  for (const std::uint32_t i : rows_) {
    header.files += is_regular(stat(i));
    header.folders += is_folder(stat(i));
    header.symlinks += is_symlink(stat(i));
    if (is_regular(stat(i))) header.total_bytes += stat(i).version.size;
  }
  header.left_out_special = listing_.left_out.special;
  header.left_out_unreadable = listing_.left_out.unreadable;
  header.left_out_reserved = listing_.left_out.reserved;
  header.left_out_links = listing_.left_out.links;
  header.source = text_.size();
  return header;
}

void Draft::write(CheckedFile& file, const SnapshotFacts& facts) const {
  Header header = make_header(facts);
  file.skip(sizeof header);
  for (const std::uint32_t i : rows_) {
    const Row row = make_row(i);
    file.write(&row, sizeof row);
  }
  for (const std::uint32_t i : order_) {
    const Entry entry{row_of_[first_link_[i]], name_at_[i]};
    file.write(&entry, sizeof entry);
  }
  file.write(owners_.data(), owners_.size() * sizeof(Owner));
  file.write(text_.data(), text_.size());
  file.write(facts.source.c_str(), facts.source.size() + 1);
  header.body_checksum = file.checksum();
  header.header_checksum = XXH3_64bits(&header, offsetof(Header, header_checksum));
  file.write_at_start(&header, sizeof header);
}

}  // namespace

void write_catalogue(const std::string& path, const Listing& listing, const Tree* previous,
                     const SnapshotFacts& facts) {
  CheckedFile file(path);
  Draft(listing, previous).write(file, facts);
  file.commit();
}

}  // namespace winnow
