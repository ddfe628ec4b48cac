// One snapshot of the data set: every file, folder and symlink, mapped read-only from the state directory.
// Immutable and thread-safe. Folders list their names in the order of a salted hash, so that a listing's
// position is a property of the name and stays true when other names come and go.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cache/file_stat.h"
#include "cache/listing.h"
#include "fs/catalogue_format.h"
#include "fs/node_id.h"

namespace winnow {

class Catalogue {
 public:
  using Row = catalogue_format::Row;
  using Entry = catalogue_format::Entry;

  // Throws StartupError if the file is not a whole catalogue of this format.
  explicit Catalogue(const std::string& path);
  ~Catalogue();
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  const catalogue_format::Header& header() const { return *header_; }
  std::string_view source() const { return text(header_->source); }
  LeftOut left_out() const;
  std::uint64_t bytes() const { return mapped_bytes_; }

  const Row& root() const { return rows_[0]; }
  const Row& row(std::uint32_t index) const { return rows_[index]; }
  std::uint32_t index(const Row& row) const { return static_cast<std::uint32_t>(&row - rows_); }
  std::uint32_t row_count() const { return static_cast<std::uint32_t>(header_->rows); }
  const Row* find(NodeId id) const;  // null if this snapshot has no such id

  std::span<const Entry> entries(const Row& folder) const;
  const Entry* find(const Row& folder, std::string_view name) const;
  // Where in entries(folder) the first name with a hash of at least `hash` stands.
  std::size_t lower_bound(const Row& folder, std::uint64_t hash) const;

  std::string_view name(const Entry& entry) const { return text(entry.name); }
  std::string_view name(const Row& row) const { return text(row.name); }
  std::string_view target(const Row& symlink) const { return text(symlink.first); }
  FileStat stat(const Row& row) const;
  std::string path(const Row& row) const;  // relative to the root
  std::uint64_t hash(std::string_view name) const { return name_hash(header_->salt, name); }

  // 62 bits, so that a listing's position fits an off_t with room for "." and "..".
  static std::uint64_t name_hash(std::uint64_t salt, std::string_view name);

 private:
  std::string_view text(std::uint64_t offset) const { return text_ + offset; }
  void map(const std::string& path);
  void check(const std::string& path) const;

  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  const catalogue_format::Header* header_ = nullptr;
  const Row* rows_ = nullptr;
  const Entry* entries_ = nullptr;
  const catalogue_format::Owner* owners_ = nullptr;
  const char* text_ = nullptr;
};

bool is_folder(const FileStat& stat);
bool is_regular(const FileStat& stat);
bool is_symlink(const FileStat& stat);

}  // namespace winnow
