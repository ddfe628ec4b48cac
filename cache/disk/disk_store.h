// The files of a disk tier, opened and checked: one process's alone, of this source, in a known format.
// Throws StartupError with what to do.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cache/disk/block_io.h"
#include "cache/disk/folder_lock.h"
#include "cache/disk/index_file.h"
#include "cache/disk/slab_files.h"

namespace winnow {

class DiskStore {
 public:
  struct Options {
    std::string directory;
    std::uint64_t budget_bytes = 0;
    std::string source_identity;
    std::string owner;  // as FolderLock takes it
    std::uint64_t slab_bytes = disk_format::kSlabBytes;  // of a new store
    std::chrono::milliseconds lock_patience{5000};
  };
  DiskStore(const Options& options, std::unique_ptr<BlockIo> io);  // io empty: the best there is

 private:
  const FolderLock lock_;
  const DirectIo direct_;

 public:
  std::string io_notice;  // why it is not io_uring with O_DIRECT; empty if it is
  const std::unique_ptr<BlockIo> io;
  IndexFile index;
  SlabFiles slabs;
};

}  // namespace winnow
