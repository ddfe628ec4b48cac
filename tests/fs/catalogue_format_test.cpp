// The catalogue as it lies on disk: what a file of format 1 holds, and what happens to files that are not
// one.
#include "fs/catalogue_format.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstddef>
#include <cstring>
#include <fstream>

#include "fs/catalogue.h"
#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

using catalogue_format::Header;

// The listing that data/catalogue_v1.bin was made of.
ListingBuilder frozen_listing() {
  const auto stat = [](std::uint32_t mode, std::uint32_t links, std::uint64_t tag, std::uint64_t size) {
    return FileStat{.mode = mode,
                    .uid = 1000,
                    .gid = 100,
                    .links = links,
                    .version = {.tag = tag,
                                .device = 9,
                                .size = size,
                                .mtime = {1'600'000'000, 1},
                                .ctime = {1'600'000'001, 2}},
                    .birth = {1'500'000'000, 3}};
  };
  ListingBuilder builder;
  builder.stat("") = stat(S_IFDIR | 0755, 3, 50, 4096);
  builder.file("train", stat(S_IFDIR | 0750, 2, 51, 4096));
  builder.file("train/cat.jpg", stat(S_IFREG | 0644, 2, 52, 1234));
  builder.file("train/caf\xe9.jpg", stat(S_IFREG | 0600, 1, 53, 1ull << 33));
  builder.file("same_cat.jpg", stat(S_IFREG | 0644, 2, 52, 1234));
  builder.symlink("train/cat.jpg", "link");
  builder.stat("link") = stat(S_IFLNK | 0777, 1, 54, 13);
  builder.left_out({.special = 4, .unreadable = 3, .reserved = 1, .links = 2});
  return builder;
}

struct CatalogueFileTest : testing::Test {
  std::string make() {
    maker.write(frozen_listing().listing());
    return maker.folder().content("catalogue");
  }
  // What opening a file with this content says; empty if it opens.
  std::string complaint(const std::string& content) {
    maker.folder().overwrite("bad", content);
    try {
      const Catalogue catalogue(maker.folder() / "bad");
      return "";
    } catch (const StartupError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(maker.folder() / "bad"), std::string::npos) << "does not name the file: " << text;
      EXPECT_NE(text.find("; remove it"), std::string::npos) << "does not say what to do: " << text;
      return text;
    }
  }
  SnapshotMaker maker;
};

TEST_F(CatalogueFileTest, AFileOfFormatOneIsReadForEver) {
  const Catalogue catalogue(WINNOW_TEST_DATA "/catalogue_v1.bin");
  EXPECT_EQ(catalogue.header().version, 1u);
  EXPECT_EQ(catalogue.source(), "dir:/data");
  EXPECT_EQ(catalogue.header().taken_at, 1'700'000'000);
  EXPECT_EQ(catalogue.header().next_id, 6u);
  EXPECT_EQ(catalogue.header().files, 2u);
  EXPECT_EQ(catalogue.header().folders, 2u);
  EXPECT_EQ(catalogue.header().symlinks, 1u);
  EXPECT_EQ(catalogue.header().total_bytes, 1234 + (1ull << 33));
  EXPECT_EQ(catalogue.left_out(), (LeftOut{.special = 4, .unreadable = 3, .reserved = 1, .links = 2}));

  const auto* train = catalogue.find(catalogue.root(), "train");
  ASSERT_NE(train, nullptr);
  const auto& folder = catalogue.row(train->row);
  EXPECT_EQ(catalogue.stat(folder).mode, S_IFDIR | 0750u);
  EXPECT_EQ(catalogue.entries(folder).size(), 2u);
  const auto* cat = catalogue.find(folder, "cat.jpg");
  ASSERT_NE(cat, nullptr);
  EXPECT_EQ(catalogue.find(catalogue.root(), "same_cat.jpg")->row, cat->row);
  const auto* cafe = catalogue.find(folder, "caf\xe9.jpg");
  ASSERT_NE(cafe, nullptr);
  const FileStat stat = catalogue.stat(catalogue.row(cafe->row));
  EXPECT_EQ(stat.mode, S_IFREG | 0600u);
  EXPECT_EQ(stat.uid, 1000u);
  EXPECT_EQ(stat.gid, 100u);
  EXPECT_EQ(stat.version, (Version{.tag = 53,
                                   .device = 9,
                                   .size = 1ull << 33,
                                   .mtime = {1'600'000'000, 1},
                                   .ctime = {1'600'000'001, 2}}));
  EXPECT_EQ(stat.birth, (Timestamp{1'500'000'000, 3}));
  const auto* link = catalogue.find(catalogue.root(), "link");
  EXPECT_EQ(catalogue.target(catalogue.row(link->row)), "train/cat.jpg");
  EXPECT_EQ(catalogue.path(catalogue.row(cafe->row)), "train/caf\xe9.jpg");
}

TEST_F(CatalogueFileTest, TheSameListingGivesTheSameBytesButForTheSnapshotsName) {
  const auto without_name = [](std::string content) {
    std::memset(content.data() + offsetof(Header, snapshot), 0, 8);
    std::memset(content.data() + offsetof(Header, header_checksum), 0, 8);
    return content;
  };
  const std::string one = make();
  const std::string two = make();
  EXPECT_EQ(without_name(one), without_name(two));
  EXPECT_NE(one, two) << "two snapshots have one name";
  std::ifstream frozen(WINNOW_TEST_DATA "/catalogue_v1.bin", std::ios::binary);
  const std::string old((std::istreambuf_iterator<char>(frozen)), {});
  EXPECT_EQ(without_name(one), without_name(old)) << "the format changed: that needs a new kFormatVersion";
}

TEST_F(CatalogueFileTest, EveryFlippedBitOfTheHeaderIsNoticed) {
  const std::string good = make();
  ASSERT_EQ(complaint(good), "");
  for (std::size_t at = 0; at < sizeof(Header); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    EXPECT_NE(complaint(bad), "") << "byte " << at;
  }
}

TEST_F(CatalogueFileTest, FlippedBytesAnywhereInTheBodyAreNoticed) {
  const std::string good = make();
  for (std::size_t at = sizeof(Header); at < good.size(); at += 5) {
    std::string bad = good;
    bad[at] = static_cast<char>(~bad[at]);
    ASSERT_NE(complaint(bad), "") << "byte " << at;
  }
}

TEST_F(CatalogueFileTest, EveryTruncationIsNoticed) {
  const std::string good = make();
  for (std::size_t size = 0; size < good.size(); size += size < 8 ? 1 : 13)
    ASSERT_NE(complaint(good.substr(0, size)), "") << size;
  EXPECT_NE(complaint(good + '\0'), "") << "something appended";
}

TEST_F(CatalogueFileTest, AForeignFileIsToldApart) {
  EXPECT_NE(complaint("#!/bin/sh\n" + std::string(500, 'x')).find("is not a Winnow catalogue"),
            std::string::npos);
  EXPECT_NE(complaint(std::string(4096, '\0')).find("is not a Winnow catalogue"), std::string::npos);
}

TEST_F(CatalogueFileTest, AFutureFormatIsToldWithBothNumbers) {
  std::string future = make();
  const std::uint32_t version = 7;
  std::memcpy(future.data() + offsetof(Header, version), &version, sizeof version);
  const std::uint64_t checksum = XXH3_64bits(future.data(), offsetof(Header, header_checksum));
  std::memcpy(future.data() + offsetof(Header, header_checksum), &checksum, sizeof checksum);
  const std::string text = complaint(future);
  EXPECT_NE(text.find("has format 7"), std::string::npos) << text;
  EXPECT_NE(text.find("reads format 1"), std::string::npos) << text;
}

TEST_F(CatalogueFileTest, SectionsThatCannotFitAreRefusedEvenWithARightHeaderChecksum) {
  const std::string good = make();
  for (const std::size_t field : {offsetof(Header, rows), offsetof(Header, entries), offsetof(Header, owners),
                                  offsetof(Header, text_bytes)}) {
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1} << 31, UINT64_MAX}) {
      std::string bad = good;
      std::memcpy(bad.data() + field, &count, sizeof count);
      const std::uint64_t checksum = XXH3_64bits(bad.data(), offsetof(Header, header_checksum));
      std::memcpy(bad.data() + offsetof(Header, header_checksum), &checksum, sizeof checksum);
      EXPECT_NE(complaint(bad), "") << field << " " << count;
    }
  }
}

TEST_F(CatalogueFileTest, AMissingFileAndAFolderAreStartupErrors) {
  EXPECT_THROW(Catalogue(maker.folder() / "none"), StartupError);
  maker.folder().folder("catalogue_folder");
  EXPECT_THROW(Catalogue(maker.folder() / "catalogue_folder"), StartupError);
}

}  // namespace
}  // namespace winnow
