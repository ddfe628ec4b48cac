#include "cache/disk/disk_tier.h"

#include <gtest/gtest.h>

#include "tests/cache/disk/disk_fixture.h"

namespace winnow {
namespace {

constexpr std::uint64_t kBudget = 16 << 20;

std::string startup_error(const std::function<void()>& start) {
  try {
    start();
  } catch (const StartupError& error) {
    return error.what();
  }
  return "";
}

TEST(DiskTier, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  const FileRef file = file_ref(1, 50'000);
  EXPECT_FALSE(tier.read(file));
  EXPECT_FALSE(tier.contains(file));
  store(tier, file);
  EXPECT_TRUE(tier.contains(file));
  const auto bytes = tier.read(file);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(text_of(*bytes), text_of(content_of(file)));
  const DiskCounts counts = tier.counts();
  EXPECT_EQ(counts.hits, 1u);
  EXPECT_EQ(counts.misses, 1u);
  EXPECT_EQ(counts.samples, 1u);
  EXPECT_EQ(counts.bytes_stored, 50'000u);
  EXPECT_EQ(tier.stored_bytes(file.id), 50'000u);
  EXPECT_TRUE(counts.writing);
}

TEST(DiskTier, AnyRangeOfAFileOfSeveralChunks) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  const FileRef file = file_ref(1, 3'500'000);
  store(tier, file);
  const std::string whole = text_of(content_of(file));
  const std::uint64_t chunk = disk_format::kChunkBytes;
  for (const auto& [offset, size] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 3'500'000},
                                                            {chunk - 1, 2},
                                                            {chunk, chunk},
                                                            {5, 3 * chunk},
                                                            {3'499'999, 1},
                                                            {3'000'000, 9'000'000}}) {
    const auto bytes = tier.read(file, offset, size);
    ASSERT_TRUE(bytes) << offset;
    EXPECT_EQ(text_of(*bytes), whole.substr(offset, size)) << offset;
  }
}

TEST(DiskTier, SeveralFilesAtOnceEachByItself) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  const std::vector<FileRef> files{file_ref(1, 50'000), file_ref(2, 3'000'000), file_ref(3, 60'000), file_ref(4, 0),
                                   file_ref(5, 70'000)};
  for (const std::size_t i : {0, 1, 4}) store(tier, files[i]);
  const auto bytes = tier.read_each(files);
  ASSERT_EQ(bytes.size(), files.size());
  for (const std::size_t i : {0, 1, 3, 4}) {
    ASSERT_TRUE(bytes[i]) << i;
    EXPECT_EQ(text_of(*bytes[i]), text_of(content_of(files[i]))) << i;
  }
  EXPECT_FALSE(bytes[2]) << "it was never written";
  EXPECT_EQ(tier.counts().hits, 3u);
  EXPECT_EQ(tier.counts().misses, 1u);
  EXPECT_TRUE(tier.read_each({}).empty());
}

TEST(DiskTier, OfSeveralFilesATornOneIsAMissAndTheOthersAreServed) {
  const TemporaryFolder folder;
  const auto faults = std::make_shared<FaultyIo::Faults>();
  DiskOptions options = disk_options(folder.path(), kBudget);
  options.io = std::make_unique<FaultyIo>(faults);
  DiskTier tier(std::move(options));
  const std::vector<FileRef> files{file_ref(1, 50'000), file_ref(2, 60'000)};
  for (const FileRef& file : files) store(tier, file);
  faults->flip_reads = true;  // of each call, the last piece
  const auto bytes = tier.read_each(files);
  ASSERT_TRUE(bytes[0]);
  EXPECT_EQ(text_of(*bytes[0]), text_of(content_of(files[0])));
  EXPECT_FALSE(bytes[1]);
  EXPECT_EQ(tier.counts().torn, 1u);
  EXPECT_FALSE(tier.contains(files[1]));
}

TEST(DiskTier, OfPartOfAFileKeepsTheWholeChunks) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  const std::uint64_t chunk = disk_format::kChunkBytes;
  const FileRef file = file_ref(1, 4 * chunk + 100);
  const Bytes content = content_of(file);
  tier.write(file, chunk / 2, content.part(chunk / 2, 2 * chunk));  // the second chunk is in it, no other
  tier.write(file, 4 * chunk, content.part(4 * chunk, 100));        // the last, short one
  tier.flush();
  EXPECT_EQ(tier.counts().writes, 2u);
  EXPECT_FALSE(tier.contains(file));
  EXPECT_FALSE(tier.read(file, 0, 10));
  EXPECT_TRUE(tier.read(file, chunk, chunk));
  EXPECT_TRUE(tier.read(file, 4 * chunk, 100));
  EXPECT_FALSE(tier.read(file, 2 * chunk - 1, 2)) << "half of it is missing";
}

TEST(DiskTier, AnEmptyFileIsNothingToRead) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  const FileRef file = file_ref(1, 0);
  store(tier, file);
  EXPECT_EQ(tier.counts().writes, 0u);
  ASSERT_TRUE(tier.read(file));
  EXPECT_EQ(tier.read(file)->size(), 0u);
}

TEST(DiskTier, AnotherVersionIsAnotherFile) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  const FileRef old = file_ref(1, 5'000, 1), fresh = file_ref(1, 5'000, 2);
  store(tier, old);
  EXPECT_FALSE(tier.read(fresh));
  store(tier, fresh);
  EXPECT_EQ(text_of(*tier.read(fresh)), text_of(content_of(fresh)));
  EXPECT_FALSE(tier.read(old)) << "the same sample has one version";
  EXPECT_EQ(tier.counts().samples, 1u);
}

TEST(DiskTier, WhatIsRemovedIsGoneAlsoAfterARestart) {
  const TemporaryFolder folder;
  const FileRef one = file_ref(1, 2'500'000), two = file_ref(2, 10'000);
  {
    DiskTier tier(disk_options(folder.path(), kBudget));
    store(tier, one);
    store(tier, two);
    tier.remove(one);
    EXPECT_FALSE(tier.read(one));
  }
  DiskTier tier(disk_options(folder.path(), kBudget));
  EXPECT_FALSE(tier.read(one));
  EXPECT_TRUE(tier.read(two));
}

TEST(DiskTier, SurvivesARestartAndServesBeforeItIsAdopted) {
  const TemporaryFolder folder;
  std::vector<FileRef> files;
  for (std::uint64_t id = 1; id <= 200; ++id) files.push_back(file_ref(id, 100 + id * 217));
  {
    DiskTier tier(disk_options(folder.path(), kBudget));
    for (const FileRef& file : files) tier.write(file, 0, content_of(file));
    tier.flush();
  }
  DiskTier tier(disk_options(folder.path(), kBudget));
  for (const FileRef& file : files) {
    const auto bytes = tier.read(file);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(text_of(*bytes), text_of(content_of(file)));
  }
  EXPECT_EQ(tier.counts().samples, 0u) << "whose they are is not known yet";
  adopt_all(tier, files);
  EXPECT_EQ(tier.counts().samples, 200u);
  EXPECT_EQ(tier.counts().torn + tier.counts().bad_records + tier.counts().outdated, 0u);
}

TEST(DiskTier, AdoptionLetsGoWhatTheCatalogueNoLongerHas) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  const FileRef stays = file_ref(1, 9'000), goes = file_ref(2, 9'000), changes = file_ref(3, 1'500'000);
  for (const FileRef& file : {stays, goes, changes}) store(tier, file);
  adopt_all(tier, {stays, file_ref(4, 1'500'000), file_ref(3, 1'500'000, 9)});
  EXPECT_TRUE(tier.contains(stays));
  EXPECT_FALSE(tier.contains(goes));
  EXPECT_FALSE(tier.contains(changes));
  EXPECT_EQ(tier.counts().outdated, 3u) << "one chunk and two";
  EXPECT_EQ(tier.counts().samples, 1u);
  EXPECT_EQ(tier.counts().bytes_stored, 9'000u);
}

TEST(DiskTier, AdoptionGivesSlotsTheirNewIds) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  FileRef file = file_ref(1, 9'000);
  store(tier, file);
  file.id = SampleId{77};
  adopt_all(tier, {file});
  EXPECT_EQ(tier.stored_bytes(SampleId{1}), 0u);
  EXPECT_EQ(tier.stored_bytes(SampleId{77}), 9'000u);
  EXPECT_EQ(tier.counts().samples, 1u);
}

TEST(DiskTier, AFullQueueDropsAndCounts) {
  const TemporaryFolder folder;
  DiskOptions options = disk_options(folder.path(), kBudget);
  options.queue_bytes = 10'000;
  DiskTier tier(std::move(options));
  tier.write(file_ref(1, 20'000), 0, content_of(file_ref(1, 20'000)));
  tier.flush();
  EXPECT_EQ(tier.counts().dropped_writes, 1u);
  EXPECT_FALSE(tier.contains(file_ref(1, 20'000)));
  store(tier, file_ref(2, 9'000));
  EXPECT_TRUE(tier.contains(file_ref(2, 9'000)));
  EXPECT_EQ(tier.counts().queued_bytes, 0u);
}

TEST(DiskTier, TheEndWritesWhatIsQueued) {
  const TemporaryFolder folder;
  std::vector<FileRef> files;
  for (std::uint64_t id = 1; id <= 100; ++id) files.push_back(file_ref(id, 100'000));
  {
    DiskTier tier(disk_options(folder.path(), kBudget));
    for (const FileRef& file : files) tier.write(file, 0, content_of(file));
  }
  DiskTier tier(disk_options(folder.path(), kBudget));
  for (const FileRef& file : files) EXPECT_TRUE(tier.contains(file)) << file.path;
}

TEST(DiskTier, TellsHowMuchOfARangeItHoldsFromItsBeginningOn) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  const std::uint64_t chunk = disk_format::kChunkBytes;
  const FileRef file = file_ref(1, 3 * chunk + 100);
  const Bytes content = content_of(file);
  tier.write(file, 0, content.part(0, 2 * chunk));
  tier.write(file, 3 * chunk, content.part(3 * chunk, 100));
  EXPECT_EQ(tier.held_from(file, 5, 3 * chunk), 2 * chunk - 5);
  EXPECT_EQ(tier.held_from(file, chunk, 10), 10u);
  EXPECT_EQ(tier.held_from(file, 2 * chunk, chunk), 0u);
  EXPECT_EQ(tier.held_from(file, 3 * chunk, chunk), 100u) << "cut off at the file's end";
  EXPECT_FALSE(tier.contains(file));
}

// Also while the index is compacted, when there are two of it for a moment.
TEST(DiskTier, TheBudgetHoldsAtEveryStep) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kSmall = 8 << 20;
  auto faults = std::make_shared<FaultyIo::Faults>();
  std::uint64_t most = 0, compactions = 0;
  faults->after_each = [&] {
    const std::uint64_t now = blocks_of(folder.path());
    most = std::max(most, now);
    compactions += std::filesystem::exists(folder / "index.new") ? 1 : 0;
  };
  DiskOptions options = disk_options(folder.path(), kSmall);
  options.io = std::make_unique<FaultyIo>(faults);
  DiskTier tier(std::move(options));
  for (std::uint64_t id = 1; id <= 20'000; ++id) {
    tier.write(file_ref(id, 700), 0, content_of(file_ref(id, 700)));
    if (id % 1'000 == 0) tier.flush();
  }
  tier.flush();
  EXPECT_GT(compactions, 2u);
  EXPECT_LE(most, kSmall);
  const DiskCounts counts = tier.counts();
  EXPECT_LE(counts.high_water_bytes, kSmall);
  EXPECT_GT(counts.high_water_bytes, counts.bytes_on_disk + counts.samples * sizeof(disk_format::IndexRecord) / 2)
      << "the second index is not in it";
  EXPECT_GT(counts.evictions, 1'000u);
}

TEST(DiskTier, OneProcessAtATime) {
  const TemporaryFolder folder;
  const DiskTier tier(disk_options(folder.path(), kBudget));
  EXPECT_EQ(startup_error([&] { DiskTier(disk_options(folder.path(), kBudget)); }),
            "disk tier " + folder.path() +
                " is in use by another winnow; unmount that one or give another --disk-dir");
}

TEST(DiskTier, ADirectoryBelongsToOneSource) {
  const TemporaryFolder folder;
  { const DiskTier tier(disk_options(folder.path(), kBudget)); }
  DiskOptions other = disk_options(folder.path(), kBudget);
  other.store.source_identity = "source-2";
  EXPECT_EQ(startup_error([&] { DiskTier{std::move(other)}; }),
            "disk tier " + folder.path() +
                " belongs to another source (source-1); give another --disk-dir, or remove the "
                "folder to use it for this one");
}

TEST(DiskTier, RefusesWhatItCannotUseWithASentence) {
  const TemporaryFolder folder;
  EXPECT_EQ(startup_error([&] { DiskTier(disk_options(folder.path(), 1000)); }),
            "--disk must be at least 4M, got 1000 bytes");
  EXPECT_EQ(startup_error([&] { DiskTier(disk_options("", kBudget)); }),
            "--disk needs a place: give --disk-dir");
  folder.file("plain", "x");
  EXPECT_NE(
      startup_error([&] { DiskTier(disk_options(folder / "plain", kBudget)); }).find("cannot be written"),
      std::string::npos);
  folder.file("mine/index", std::string(600, 'x'));
  EXPECT_NE(startup_error([&] {
              DiskTier(disk_options(folder / "mine", kBudget));
            }).find("is not a winnow disk tier's"),
            std::string::npos);
  EXPECT_EQ(folder.content("mine/index"), std::string(600, 'x')) << "another's file was touched";
}

TEST(DiskTier, ASmallerBudgetShrinksWhatIsThere) {
  const TemporaryFolder folder;
  std::vector<FileRef> files;
  for (std::uint64_t id = 1; id <= 120; ++id) files.push_back(file_ref(id, 100'000));
  {
    DiskTier tier(disk_options(folder.path(), kBudget));
    for (const FileRef& file : files) store(tier, file);
    EXPECT_EQ(tier.counts().samples, 120u);
  }
  DiskTier tier(disk_options(folder.path(), 6 << 20));
  EXPECT_LE(blocks_of(folder.path()), 6u << 20);
  adopt_all(tier, files);
  EXPECT_GT(tier.counts().samples, 50u);
  std::uint64_t found = 0;
  for (const FileRef& file : files) {
    const auto bytes = tier.read(file);
    if (bytes) {
      EXPECT_EQ(text_of(*bytes), text_of(content_of(file)));
    }
    found += bytes.has_value();
  }
  EXPECT_EQ(found, tier.counts().samples);
}

// A refresh may bring smaller files, which need more records than slabs that grew for the larger ones left room for.
TEST(DiskTier, ATierFullOfLargeFilesMakesRoomForTheRecordsOfSmallOnes) {
  constexpr std::uint64_t kRoomy = 12 << 20;
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kRoomy));
  std::vector<FileRef> files;
  for (std::uint64_t id = 1; id <= 40; ++id) files.push_back(file_ref(id, 900'000));
  adopt_all(tier, files);
  for (const FileRef& file : files) store(tier, file);
  std::vector<FileRef> small;
  for (std::uint64_t id = 1'000; id < 10'000; ++id) small.push_back(file_ref(id, 2'000));
  files.insert(files.end(), small.begin(), small.end());
  adopt_all(tier, files);
  for (const FileRef& file : small) tier.write(file, 0, content_of(file));
  tier.flush();
  EXPECT_GT(tier.counts().bytes_stored, kRoomy / 2);
  EXPECT_LE(blocks_of(folder.path()), kRoomy);
  std::uint64_t held = 0;
  for (const FileRef& file : small) {
    const auto bytes = tier.read(file);
    if (!bytes) continue;
    ++held;
    ASSERT_EQ(text_of(*bytes), text_of(content_of(file)));
  }
  EXPECT_GT(held, 3'500u);
  EXPECT_EQ(tier.counts().read_errors, 0u);
}

TEST(DiskTier, WhatACutOffSlabNoLongerHasIsCountedAsTorn) {
  const TemporaryFolder folder;
  {
    DiskTier tier(disk_options(folder.path(), kBudget));
    for (std::uint64_t id = 1; id <= 10; ++id) store(tier, file_ref(id, 100'000));
  }
  std::filesystem::resize_file(folder / "slab-000000", 450'000);
  const DiskTier tier(disk_options(folder.path(), kBudget));
  EXPECT_EQ(tier.counts().torn, 6u);
  EXPECT_EQ(tier.counts().bad_records, 0u);
}

}  // namespace
}  // namespace winnow
