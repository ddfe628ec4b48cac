// Any bytes as a slot, opened with what they say of themselves: never read out of bounds, and accepted only
// if sealing what was accepted gives the same bytes again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cache/disk/slot_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace winnow;
  using disk_format::SlotHeader;
  if (size < 1 + sizeof(SlotHeader)) return 0;
  const bool seal_first = data[0] % 2 == 0;
  std::vector<std::byte> slot(size - 1);
  std::memcpy(slot.data(), data + 1, slot.size());
  SlotHeader header;
  std::memcpy(&header, slot.data(), sizeof header);
  const DiskKey key{header.key_low, header.key_high};
  const Version version{.tag = header.tag,
                        .device = header.device,
                        .size = header.size,
                        .mtime = {header.mtime_seconds, header.mtime_nanoseconds},
                        .ctime = {header.ctime_seconds, header.ctime_nanoseconds}};
  const bool holds = header.length <= slot.size() - sizeof header;
  if (seal_first && holds) seal_slot(slot, key, header.chunk, header.length, version);
  const auto body = open_slot(slot, key, header.chunk, header.length, version);
  if (seal_first && holds && !body) abort();
  if (!body) return 0;
  std::vector<std::byte> again = slot;
  seal_slot(again, key, header.chunk, header.length, version);
  if (std::memcmp(again.data(), slot.data(), sizeof header + body->size()) != 0) abort();
  if (slot.size() > sizeof header + 1 && body->size() > 0) {  // any flipped bit shows
    slot[sizeof header + data[0] % body->size()] ^= std::byte{1};
    if (open_slot(slot, key, header.chunk, header.length, version)) abort();
  }
  return 0;
}
