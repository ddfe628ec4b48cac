#include "cache/disk/slot_codec.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace winnow {

using disk_format::SlotHeader;

namespace {

SlotHeader header_of(const DiskKey& key, std::uint32_t chunk, std::uint32_t length, const Version& version) {
  return {.checksum = 0,
          .magic = disk_format::kSlotMagic,
          .chunk = chunk,
          .key_low = key.low,
          .key_high = key.high,
          .length = length,
          .device = version.device,
          .tag = version.tag,
          .size = version.size,
          .mtime_seconds = version.mtime.seconds,
          .ctime_seconds = version.ctime.seconds,
          .mtime_nanoseconds = version.mtime.nanoseconds,
          .ctime_nanoseconds = version.ctime.nanoseconds};
}

std::uint64_t checksum_of(const SlotHeader& header, const std::byte* body) {
  const auto* rest = reinterpret_cast<const char*>(&header) + sizeof header.checksum;
  const std::uint64_t seed = XXH3_64bits(rest, sizeof header - sizeof header.checksum);
  return XXH3_64bits_withSeed(body, header.length, seed);
}

}  // namespace

DiskKey disk_key(std::string_view path, const Version& version) {
  const std::uint64_t facts[] = {version.tag,
                                 version.device,
                                 version.size,
                                 static_cast<std::uint64_t>(version.mtime.seconds),
                                 version.mtime.nanoseconds,
                                 static_cast<std::uint64_t>(version.ctime.seconds),
                                 version.ctime.nanoseconds};
  const XXH128_hash_t of_path = XXH3_128bits(path.data(), path.size());
  std::uint64_t text[2 + std::size(facts)] = {of_path.low64, of_path.high64};
  std::copy(std::begin(facts), std::end(facts), text + 2);
  const XXH128_hash_t key = XXH3_128bits(text, sizeof text);
  return {key.low64, key.high64};
}

std::uint32_t slot_units(std::uint32_t length, std::uint32_t unit_bytes) {
  const std::uint64_t bytes = sizeof(SlotHeader) + std::uint64_t{length};
  const std::uint64_t units = (bytes + unit_bytes - 1) / unit_bytes;
  const std::uint64_t step = std::max<std::uint64_t>(1, std::bit_floor(units / 32));
  return static_cast<std::uint32_t>((units + step - 1) / step * step);
}

void seal_slot(std::span<std::byte> slot, const DiskKey& key, std::uint32_t chunk, std::uint32_t length,
               const Version& version) {
  std::byte* body = slot.data() + sizeof(SlotHeader);
  std::fill(body + length, slot.data() + slot.size(), std::byte{});
  SlotHeader header = header_of(key, chunk, length, version);
  header.checksum = checksum_of(header, body);
  std::memcpy(slot.data(), &header, sizeof header);
}

std::optional<std::span<const std::byte>> open_slot(std::span<const std::byte> slot, const DiskKey& key,
                                                    std::uint32_t chunk, std::uint32_t length,
                                                    const Version& version) {
  if (slot.size() < sizeof(SlotHeader) || slot.size() - sizeof(SlotHeader) < length) return std::nullopt;
  SlotHeader expected = header_of(key, chunk, length, version);
  const std::byte* body = slot.data() + sizeof(SlotHeader);
  std::memcpy(&expected.checksum, slot.data(), sizeof expected.checksum);
  if (std::memcmp(&expected, slot.data(), sizeof expected) != 0) return std::nullopt;
  if (checksum_of(expected, body) != expected.checksum) return std::nullopt;
  return std::span(body, length);
}

}  // namespace winnow
