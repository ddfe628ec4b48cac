// Any bytes as the disk tier's index and slab. Raw: whatever opens must come to rest with a consistent
// ledger, or be refused with a sentence. Sealed: the checksums are made good first, so that the fuzzer gets
// past them to what the records say.
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cache/disk/disk_ledger.h"
#include "cache/disk/plain_io.h"
#include "policy/admission.h"
#include "policy/lru.h"

namespace winnow {
namespace {

using disk_format::IndexHeader;
using disk_format::IndexRecord;

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  abort();
}

struct Folder {
  std::string path;
  Folder() {
    const bool in_memory = std::filesystem::is_directory("/dev/shm");
    path = in_memory ? "/dev/shm/winnow-fuzz-XXXXXX"
                     : std::filesystem::temp_directory_path() / "winnow-fuzz-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) fail("no temporary folder");
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

const std::string& folder() {
  static const Folder one;
  return one.path;
}

// A good head over the given records, each with its checksum made good if it is told to be.
std::string sealed_index(const std::uint8_t* data, std::size_t size) {
  static const std::string head = [] {
    PlainIo io;
    std::filesystem::remove(folder() + "/index");
    { const IndexFile made(io, folder(), "fuzz", {.unit_bytes = 512, .slab_bytes = 1 << 20}); }
    std::ifstream in(folder() + "/index", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  std::string text = head;
  for (std::size_t at = 0; at + sizeof(IndexRecord) <= size; at += sizeof(IndexRecord)) {
    IndexRecord record;
    std::memcpy(&record, data + at, sizeof record);
    if (record.checksum % 8 != 7) IndexFile::seal(record);
    text.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  return text;
}

void use(std::uint64_t slab_bytes) {
  PlainIo io;
  IndexFile index(io, folder(), "fuzz", {.unit_bytes = 512, .slab_bytes = 1 << 20});
  if (index.geometry().slab_bytes > (1u << 30)) return;
  SlabFiles slabs(io, folder(), index.geometry(), 8 << 20, false);
  DiskLedger ledger({std::make_unique<Lru>(), admit_all()}, index.geometry(), 8 << 20);
  index.replay([&](const IndexRecord& record) { ledger.replay(record); });
  ledger.settle(slabs);
  std::uint64_t taken = 0;
  for (const IndexRecord& record : ledger.live_records()) {
    std::uint64_t units = record.last_units;
    for (const std::uint16_t some : record.units) units += some;
    taken += units * index.geometry().unit_bytes;
  }
  if (taken + ledger.free_bytes() != ledger.slab_bytes()) fail("space was lost or counted twice");
  if (ledger.slab_bytes() > slab_bytes) fail("more space than there are files");
  // Fills what is left: the ledger must not hand out a unit that a slot has.
  for (std::uint64_t id = 1; id < 300; ++id) {
    const auto extents = ledger.make_room(SampleId{id}, 5'000);
    if (!extents) break;
    ledger.put(SampleId{id}, {.key = {id, ~id}, .length = 5'000, .extents = *extents});
  }
  ledger.begin_adoption();
  ledger.end_adoption();
  if (ledger.slots() != 0 || ledger.free_bytes() != ledger.slab_bytes()) fail("something was left behind");
}

}  // namespace
}  // namespace winnow

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace winnow;
  if (size == 0) return 0;
  const std::string text = data[0] % 4 == 0 ? std::string(reinterpret_cast<const char*>(data + 1), size - 1)
                                            : sealed_index(data + 1, size - 1);
  std::filesystem::remove(folder() + "/slab-000000");
  std::ofstream(folder() + "/index", std::ios::binary | std::ios::trunc) << text;
  std::ofstream(folder() + "/slab-000000", std::ios::binary | std::ios::trunc);
  std::filesystem::resize_file(folder() + "/slab-000000", 700'123);
  try {
    use(700'123);
  } catch (const StartupError&) {
  }
  return 0;
}
