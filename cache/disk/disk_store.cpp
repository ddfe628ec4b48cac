#include "cache/disk/disk_store.h"

namespace winnow {
namespace {

constexpr std::uint64_t kMinBudget = 4 << 20;
constexpr std::uint64_t kMaxUnits = std::uint64_t{1} << 32;

const std::string& checked(const DiskStore::Options& options) {
  if (options.directory.empty()) throw StartupError("--disk needs a place: give --disk-dir");
  if (options.budget_bytes < kMinBudget) {
    throw StartupError("--disk must be at least 4M, got " + std::to_string(options.budget_bytes) + " bytes");
  }
  return options.directory;
}

IndexFile::Geometry new_geometry(const DiskStore::Options& options, const DirectIo& direct) {
  const bool large = options.budget_bytes / 512 >= kMaxUnits;
  return {large ? 4096 : direct.unit_bytes, options.slab_bytes};
}

std::unique_ptr<BlockIo> or_best(std::unique_ptr<BlockIo> given, std::string& notice) {
  if (given) return given;
  OpenedIo opened = open_block_io();
  if (!opened.why_not_uring.empty()) notice += (notice.empty() ? "" : "; ") + opened.why_not_uring;
  return std::move(opened.io);
}

// A store made elsewhere may have smaller units than O_DIRECT takes here.
bool use_direct(const DirectIo& direct, std::uint32_t unit_bytes, std::string& notice) {
  if (!direct.why_not.empty()) return false;
  if (unit_bytes % direct.unit_bytes == 0) return true;
  notice += (notice.empty() ? "" : "; ") + std::string("O_DIRECT needs ") +
            std::to_string(direct.unit_bytes) + " bytes at a time here, and this tier was made with " +
            std::to_string(unit_bytes);
  return false;
}

}  // namespace

DiskStore::DiskStore(const Options& options, std::unique_ptr<BlockIo> given)
    : lock_(checked(options), options.owner, options.lock_patience),
      direct_(probe_direct_io(options.directory)),
      io_notice(direct_.why_not),
      io(or_best(std::move(given), io_notice)),
      index(*io, options.directory, options.source_identity, new_geometry(options, direct_)),
      slabs(*io, options.directory, index.geometry(), options.budget_bytes,
            use_direct(direct_, index.geometry().unit_bytes, io_notice)) {
  if (options.budget_bytes / index.geometry().unit_bytes >= kMaxUnits) {
    throw StartupError("disk tier " + options.directory + " was made for at most " +
                       std::to_string(kMaxUnits * index.geometry().unit_bytes >> 40) +
                       " TiB; lower --disk, or give another --disk-dir");
  }
}

}  // namespace winnow
