// What the disk tier's tests share: files with known bytes, a tier over a temporary folder, and a disk that
// fails on command.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/disk/disk_tier.h"
#include "cache/disk/plain_io.h"
#include "policy/registry.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {

inline FileRef file_ref(std::uint64_t id, std::uint64_t size, std::int64_t second = 1) {
  return {SampleId{id},
          "class/" + std::to_string(id) + ".jpg",
          {.tag = id * 7, .device = 3, .size = size, .mtime = {second, 5}, .ctime = {second, 6}}};
}

// The bytes of a file: they depend on path and version, so that no file could pass for another.
inline Bytes content_of(const FileRef& file) {
  const auto seed =
      static_cast<unsigned>(value(file.id) * 31 + static_cast<std::uint64_t>(file.version.mtime.seconds));
  const std::string text = pattern(file.version.size, seed);
  const std::shared_ptr<std::byte[]> data(new std::byte[text.size()]);
  std::memcpy(data.get(), text.data(), text.size());
  return {data, text.size()};
}

inline std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.span().data()), bytes.size()};
}

// What the folder really takes, as the filesystem counts it.
inline std::uint64_t blocks_of(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    struct stat facts {};
    if (stat(entry.path().c_str(), &facts) == 0) bytes += static_cast<std::uint64_t>(facts.st_blocks) * 512;
  }
  return bytes;
}

inline DiskOptions disk_options(const std::string& folder, std::uint64_t budget,
                                const std::string& policy = "lru") {
  DiskOptions options;
  options.store = {.directory = folder, .budget_bytes = budget, .source_identity = "source-1"};
  options.store.lock_patience = std::chrono::milliseconds(0);
  options.store.slab_bytes = 4 << 20;  // so that a few megabytes are several slabs
  options.eviction = make_eviction(policy, "");
  options.admission = make_admission(policy);
  return options;
}

inline void adopt_all(DiskTier& tier, const std::vector<FileRef>& files) {
  tier.adopt([&](const DiskTier::FileVisit& visit) {
    for (const FileRef& file : files) visit(file.id, file.path, file.version);
  });
}

inline void store(DiskTier& tier, const FileRef& file) {
  tier.write(file, 0, content_of(file));
  tier.flush();
}

// Fails the next calls of a kind with an errno, as often as told; else passes them on.
class FaultyIo final : public BlockIo {
 public:
  struct Faults {
    std::atomic<int> write_error{0};
    std::atomic<int> read_error{0};
    std::atomic<int> append_error{0};
    std::atomic<int> allocate_error{0};
    std::atomic<bool> short_write{false};  // half of it, then ENOSPC
    std::atomic<bool> flip_reads{false};
    std::atomic<int> bad_read_of{-1};  // EIO where this 1 MiB of a file is read
    std::function<void()> after_each;    // call but a read; set before the tier starts
    std::function<void()> before_write;  // set before the tier starts
  };
  explicit FaultyIo(std::shared_ptr<Faults> faults) : faults_(std::move(faults)), real_(open_block_io().io) {}

  Result<void> read(std::span<const IoPiece> pieces) override {
    if (const int error = faults_->read_error) return errno_error(error);
    for (const IoPiece& piece : pieces) {
      const auto wanted = static_cast<std::int64_t>(faults_->bad_read_of);
      if (wanted >= 0 && piece.offset <= static_cast<std::uint64_t>(wanted * kMiB + kMiB / 2) &&
          piece.offset + piece.bytes.size() > static_cast<std::uint64_t>(wanted * kMiB + kMiB / 2))
        return errno_error(EIO);
    }
    auto result = real_->read(pieces);
    if (faults_->flip_reads) pieces.back().bytes[pieces.back().bytes.size() / 3] ^= std::byte{1};
    return result;
  }
  Result<void> write(std::span<const IoPiece> pieces) override {
    if (faults_->before_write) faults_->before_write();
    if (const int error = faults_->write_error) return errno_error(error);
    if (faults_->short_write) {
      IoPiece half = pieces.front();
      half.bytes = half.bytes.first(half.bytes.size() / 1024 * 512);
      if (!half.bytes.empty()) (void)real_->write({&half, 1});
      return errno_error(ENOSPC);
    }
    return then(real_->write(pieces));
  }
  Result<void> append(int fd, std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (const int error = faults_->append_error) return errno_error(error);
    return then(real_->append(fd, offset, bytes));
  }
  Result<void> allocate(int fd, std::uint64_t from, std::uint64_t bytes) override {
    if (const int error = faults_->allocate_error) return errno_error(error);
    return then(real_->allocate(fd, from, bytes));
  }

 private:
  static constexpr std::int64_t kMiB = 1 << 20;
  Result<void> then(Result<void> result) const {
    if (faults_->after_each) faults_->after_each();
    return result;
  }

  const std::shared_ptr<Faults> faults_;
  const std::unique_ptr<BlockIo> real_;
};

}  // namespace winnow
