// The parts of the disk tier, each alone: free space, the slot table, the slot's checks, the index.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <map>
#include <random>

#include "cache/disk/index_file.h"
#include "cache/disk/plain_io.h"
#include "cache/disk/slot_table.h"
#include "cache/disk/uring_io.h"
#include "tests/cache/disk/disk_fixture.h"

namespace winnow {
namespace {

using disk_format::IndexRecord;
using disk_format::RecordKind;

TEST(ExtentPool, TakesTheSmallestHoleThatFits) {
  ExtentPool pool(1000);
  pool.add(0, 50);
  pool.add(100, 10);
  pool.add(200, 20);
  const auto taken = pool.take(9);
  ASSERT_TRUE(taken);
  EXPECT_EQ((*taken)[0], (Extent{100, 9}));
  EXPECT_EQ((*taken)[1].units, 0u);
  EXPECT_EQ(pool.free_units(), 71u);
}

TEST(ExtentPool, SpreadsOverSeveralHolesIfNoneFits) {
  ExtentPool pool(1000);
  for (std::uint32_t first = 0; first < 60; first += 10) pool.add(first, 5);
  EXPECT_FALSE(pool.take(26)) << "would need six";
  const auto taken = pool.take(18);
  ASSERT_TRUE(taken);
  std::uint32_t units = 0;
  for (const Extent& extent : *taken) units += extent.units;
  EXPECT_EQ(units, 18u);
  EXPECT_EQ(pool.free_units(), 12u);
  pool.give(*taken);
  EXPECT_EQ(pool.holes(), 6u);
  EXPECT_EQ(pool.free_units(), 30u);
}

TEST(ExtentPool, NeighboursAreJoinedButNotAcrossSlabs) {
  ExtentPool pool(100);
  pool.add(0, 40);
  pool.add(60, 40);
  pool.add(100, 50);
  EXPECT_EQ(pool.holes(), 3u);
  pool.add(40, 20);
  EXPECT_EQ(pool.holes(), 2u);
  EXPECT_EQ(pool.largest().units, 100u);
  EXPECT_EQ(pool.largest().first, 0u);
}

TEST(ExtentPool, RandomTakingAndGivingNeverGivesAUnitTwice) {
  ExtentPool pool(256);
  for (std::uint32_t slab = 0; slab < 4; ++slab) pool.add(slab * 256, 256);
  std::mt19937 random(5);
  std::vector<bool> used(1024);
  std::vector<Extents> held;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0) {
      const auto taken = pool.take(1 + random() % 60);
      if (!taken) continue;
      for (const Extent& extent : *taken) {
        for (std::uint32_t unit = extent.first; unit < extent.end(); ++unit) {
          ASSERT_FALSE(used[unit]);
          used[unit] = true;
        }
        ASSERT_TRUE(extent.units == 0 || extent.first / 256 == (extent.end() - 1) / 256)
            << "crosses a slab's end";
      }
      held.push_back(*taken);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      for (const Extent& extent : held.back()) {
        for (std::uint32_t unit = extent.first; unit < extent.end(); ++unit) used[unit] = false;
      }
      pool.give(held.back());
      held.pop_back();
    }
    ASSERT_EQ(pool.free_units(), static_cast<std::uint64_t>(std::count(used.begin(), used.end(), false)));
  }
}

TEST(SlotTable, FindsWhatAMapWouldFind) {
  SlotTable table;
  std::map<std::pair<DiskKey, std::uint32_t>, std::uint32_t> model;
  std::mt19937 random(11);
  for (int i = 0; i < 30'000; ++i) {
    const DiskKey key{random() % 200 * 16, random() % 3};  // many on the same place
    const std::uint32_t chunk = random() % 3;
    const SlotNumber found = table.find(key, chunk);
    const auto known = model.find({key, chunk});
    ASSERT_EQ(found != kNoSlot, known != model.end());
    if (found == kNoSlot) {
      model[{key, chunk}] = static_cast<std::uint32_t>(i);
      table.insert({.key = key, .chunk = chunk, .length = static_cast<std::uint32_t>(i)});
    } else {
      ASSERT_EQ(table[found].length, known->second);
      if (random() % 2 == 0) {
        table.erase(found);
        model.erase(known);
      }
    }
    ASSERT_EQ(table.size(), model.size());
  }
}

TEST(SlotCodec, AnythingThatDiffersIsRefused) {
  const FileRef file = file_ref(5, 3'000);
  const DiskKey key = disk_key(file.path, file.version);
  std::vector<std::byte> slot(7 * 512);
  std::memcpy(slot.data() + sizeof(disk_format::SlotHeader), content_of(file).span().data(), 3'000);
  seal_slot(slot, key, 2, 3'000, file.version);
  ASSERT_TRUE(open_slot(slot, key, 2, 3'000, file.version));
  EXPECT_FALSE(open_slot(slot, key, 1, 3'000, file.version));
  EXPECT_FALSE(open_slot(slot, key, 2, 2'999, file.version));
  EXPECT_FALSE(open_slot(slot, {key.low, key.high + 1}, 2, 3'000, file.version));
  EXPECT_FALSE(open_slot(slot, key, 2, 3'000, file_ref(5, 3'000, 2).version));
  EXPECT_FALSE(open_slot(std::span(slot).first(3'000), key, 2, 3'000, file.version));
  for (std::size_t at = 0; at < sizeof(disk_format::SlotHeader) + 3'000; ++at) {
    slot[at] ^= std::byte{4};
    ASSERT_FALSE(open_slot(slot, key, 2, 3'000, file.version)) << at;
    slot[at] ^= std::byte{4};
  }
}

TEST(SlotCodec, EveryPartOfAVersionIsInTheKey) {
  const Version version{.tag = 1, .device = 2, .size = 3, .mtime = {4, 5}, .ctime = {6, 7}};
  const auto changed = [&](auto change) {
    Version other = version;
    change(other);
    return disk_key("a", other);
  };
  const DiskKey key = disk_key("a", version);
  EXPECT_EQ(key, disk_key("a", version));
  EXPECT_NE(key, disk_key("b", version));
  EXPECT_NE(key, changed([](Version& v) { ++v.tag; }));
  EXPECT_NE(key, changed([](Version& v) { ++v.device; }));
  EXPECT_NE(key, changed([](Version& v) { ++v.size; }));
  EXPECT_NE(key, changed([](Version& v) { ++v.mtime.seconds; }));
  EXPECT_NE(key, changed([](Version& v) { ++v.mtime.nanoseconds; }));
  EXPECT_NE(key, changed([](Version& v) { ++v.ctime.seconds; }));
  EXPECT_NE(key, changed([](Version& v) { ++v.ctime.nanoseconds; }));
}

IndexRecord record(std::uint64_t key, RecordKind kind = RecordKind::kPut) {
  return {.key_low = key, .key_high = 1, .length = 100, .first = {}, .units = {1}, .kind = kind};
}

TEST(IndexFile, CompactionLeavesOnlyWhatLives) {
  const TemporaryFolder folder;
  PlainIo io;
  {
    IndexFile index(io, folder.path(), "me", {});
    std::vector<IndexRecord> records{record(1), record(2), record(1, RecordKind::kRemove)};
    ASSERT_TRUE(index.append(records));
    std::vector<IndexRecord> live{record(2)};
    ASSERT_TRUE(index.compact(live));
    std::vector<IndexRecord> more{record(3)};
    ASSERT_TRUE(index.append(more));
  }
  IndexFile index(io, folder.path(), "me", {});
  std::vector<std::uint64_t> keys;
  EXPECT_EQ(index.replay([&](const IndexRecord& one) { keys.push_back(one.key_low); }).bad_records, 0u);
  EXPECT_EQ(keys, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_FALSE(folder.has("index.new"));
}

TEST(IndexFile, ALaterFormatIsRefused) {
  const TemporaryFolder folder;
  PlainIo io;
  { const IndexFile index(io, folder.path(), "me", {}); }
  std::string text = folder.content("index");
  disk_format::IndexHeader header;
  std::memcpy(&header, text.data(), sizeof header);
  ++header.format;
  const auto sealed = [&] {
    return XXH3_64bits(reinterpret_cast<const char*>(&header) + 8, sizeof header - 8);
  };
  header.checksum = sealed();
  std::memcpy(text.data(), &header, sizeof header);
  folder.overwrite("index", text);
  EXPECT_THROW(IndexFile(io, folder.path(), "me", {}), StartupError);
}

TEST(UringIo, SaysWhatWentWrongAndGoesOn) {
  const TemporaryFolder folder;
  folder.file("short", std::string(1'000, 'x'));
  const FileDescriptor fd(open((folder / "short").c_str(), O_RDWR | O_CLOEXEC));
  const OpenedIo opened = open_block_io();
  const auto memory = aligned_bytes(4096);
  const IoPiece beyond{fd.get(), 512, {memory.get(), 1024}}, bad{-1, 0, {memory.get(), 512}};
  EXPECT_EQ(opened.io->read({&beyond, 1}).error(), errno_error(EIO));
  EXPECT_EQ(opened.io->read({&bad, 1}).error(), errno_error(EBADF));
  std::vector<IoPiece> many(200, IoPiece{fd.get(), 0, {memory.get(), 512}});
  EXPECT_TRUE(opened.io->read(many));
  EXPECT_EQ(static_cast<char>(memory[511]), 'x');
}

TEST(DiskFallback, WithoutIoUringItReadsAndWritesAllTheSame) {
  const TemporaryFolder folder;
  DiskOptions options = disk_options(folder.path(), 8 << 20);
  options.io = plain_block_io();
  DiskTier tier(std::move(options));
  store(tier, file_ref(1, 2'000'000));
  EXPECT_EQ(text_of(*tier.read(file_ref(1, 2'000'000))), text_of(content_of(file_ref(1, 2'000'000))));
}

// What format 1 looks like, as it was written once: later code still reads it.
TEST(DiskFormat, ReadsATierWrittenByTheFirstVersion) {
  const TemporaryFolder folder;
  const std::string data = WINNOW_TEST_DATA "/disk_format_1";
  const std::vector<FileRef> files{file_ref(1, 300), file_ref(2, 5'000), file_ref(3, 1'000)};
  if (getenv("WINNOW_WRITE_FIXTURE") != nullptr) {
    std::filesystem::create_directories(data);
    DiskTier tier(disk_options(data, 4 << 20));
    for (const FileRef& file : files) store(tier, file);
    tier.remove(files[2]);
    tier.flush();
    std::filesystem::resize_file(data + "/slab-000000", 20 * 512);
    std::filesystem::remove(data + "/lock");
  }
  std::filesystem::copy(data, folder / "tier");
  DiskTier tier(disk_options(folder / "tier", 4 << 20));
  EXPECT_EQ(text_of(*tier.read(files[0])), text_of(content_of(files[0])));
  EXPECT_EQ(text_of(*tier.read(files[1])), text_of(content_of(files[1])));
  EXPECT_FALSE(tier.read(files[2])) << "it was removed";
  EXPECT_EQ(tier.counts().bad_records + tier.counts().torn, 0u);
}

}  // namespace
}  // namespace winnow
