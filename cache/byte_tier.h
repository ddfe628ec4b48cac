// A place nearer than the source that may hold bytes of it. A failing tier is a miss, never an error. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cache/bytes.h"
#include "cache/file_ref.h"

namespace winnow {

class ByteTier {
 public:
  virtual ~ByteTier() = default;
  // [offset, offset + size) of the file, or nothing if any of it is missing. May block.
  virtual std::optional<Bytes> read(const FileRef& file, std::uint64_t offset, std::uint64_t size) = 0;
  // Several whole files at once, where that is faster.
  virtual std::vector<std::optional<Bytes>> read_each(std::span<const FileRef> files) {
    std::vector<std::optional<Bytes>> bytes;
    for (const FileRef& file : files) bytes.push_back(read(file, 0, file.version.size));
    return bytes;
  }
  // How much of that, from its beginning on, is there: a hint, which read() may no longer find true.
  virtual std::uint64_t held_from(const FileRef& file, std::uint64_t offset, std::uint64_t size) const = 0;
  // Takes them if it will; does not wait for that.
  virtual void write(const FileRef& file, std::uint64_t offset, const Bytes& bytes) = 0;
  virtual void touch(SampleId id) = 0;  // a reader was given bytes of it
  // Files are kept by pieces of so many bytes, each whole or not at all.
  virtual std::uint64_t piece_bytes() const = 0;
};

// For a mount without one.
class NoTier final : public ByteTier {
 public:
  std::optional<Bytes> read(const FileRef&, std::uint64_t, std::uint64_t) override { return std::nullopt; }
  std::uint64_t held_from(const FileRef&, std::uint64_t, std::uint64_t) const override { return 0; }
  void write(const FileRef&, std::uint64_t, const Bytes&) override {}
  void touch(SampleId) override {}
  std::uint64_t piece_bytes() const override { return 4096; }  // a page
};

}  // namespace winnow
