// Immutable bytes that several readers may share; the last one to let go frees them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace winnow {

class Bytes {
 public:
  Bytes() = default;
  Bytes(std::shared_ptr<const std::byte[]> data, std::size_t size) : data_(std::move(data)), size_(size) {}

  std::size_t size() const { return size_; }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }

  // The part [offset, offset + size), cut off at the end; shares ownership.
  Bytes part(std::uint64_t offset, std::size_t size) const {
    if (offset >= size_) return {};
    return {std::shared_ptr<const std::byte[]>(data_, data_.get() + offset),
            std::min<std::size_t>(size, size_ - offset)};
  }

 private:
  std::shared_ptr<const std::byte[]> data_;
  std::size_t size_ = 0;
};

}  // namespace winnow
