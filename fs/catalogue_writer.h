// Makes a new snapshot from a listing and writes it, whole or not at all. A name that still is what the
// previous tree shows keeps its id; a folder keeps its id as long as its path is a folder; all else gets a
// new one.
#pragma once

#include <string>

#include "cache/listing.h"
#include "fs/tree.h"

namespace winnow {

struct SnapshotFacts {
  std::string source;
  bool follows_symlinks = false;
  std::int64_t taken_at = 0;  // seconds since the epoch
};

// `previous` may be null. Throws StartupError; a file already at `path` is then untouched.
void write_catalogue(const std::string& path, const Listing& listing, const Tree* previous,
                     const SnapshotFacts& facts);

}  // namespace winnow
