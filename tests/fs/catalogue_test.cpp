#include "fs/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

struct CatalogueTest : testing::Test {
  std::unique_ptr<Catalogue> make(const ListingBuilder& builder) {
    maker.write(builder.listing());
    return std::make_unique<Catalogue>(maker.catalogue_path());
  }
  const Catalogue::Row& row_at(const Catalogue& catalogue, std::initializer_list<std::string_view> names) {
    const Catalogue::Row* row = &catalogue.root();
    for (const auto name : names) row = &catalogue.row(catalogue.find(*row, name)->row);
    return *row;
  }
  SnapshotMaker maker;
};

TEST_F(CatalogueTest, AnEmptySourceIsARoot) {
  const auto catalogue = make(ListingBuilder());
  EXPECT_EQ(catalogue->row_count(), 1u);
  EXPECT_EQ(catalogue->root().id, 1u);
  EXPECT_TRUE(catalogue->entries(catalogue->root()).empty());
  EXPECT_EQ(catalogue->find(catalogue->root(), "x"), nullptr);
  EXPECT_EQ(catalogue->path(catalogue->root()), "");
}

TEST_F(CatalogueTest, GivesBackEveryFact) {
  const FileStat facts{.mode = S_IFREG | 04751,
                       .uid = 4'000'000'000,
                       .gid = 3,
                       .links = 1,
                       .version = {.tag = UINT64_MAX,
                                   .device = UINT32_MAX,
                                   .size = 1ull << 50,
                                   .mtime = {-5, 999'999'999},
                                   .ctime = {1ll << 40, 1}},
                       .birth = {77, 88}};
  const auto catalogue = make(ListingBuilder().folder("d").file("d/f", facts));
  const FileStat found = catalogue->stat(row_at(*catalogue, {"d", "f"}));
  EXPECT_EQ(found.mode, facts.mode);
  EXPECT_EQ(found.uid, facts.uid);
  EXPECT_EQ(found.gid, facts.gid);
  EXPECT_EQ(found.links, facts.links);
  EXPECT_EQ(found.version, facts.version);
  EXPECT_EQ(found.birth, facts.birth);
}

TEST_F(CatalogueTest, GivesBackTheHeader) {
  ListingBuilder builder;
  builder.folder("d")
      .file("d/a", 100)
      .file("b", 20)
      .symlink("b", "l")
      .left_out({.special = 1, .unreadable = 2, .reserved = 3, .links = 4});
  write_catalogue(maker.catalogue_path(), builder.listing(), nullptr,
                  {.source = "dir:/some/where", .follows_symlinks = true, .taken_at = 123});
  const Catalogue catalogue(maker.catalogue_path());
  EXPECT_EQ(catalogue.source(), "dir:/some/where");
  EXPECT_EQ(catalogue.header().follows_symlinks, 1u);
  EXPECT_EQ(catalogue.header().taken_at, 123);
  EXPECT_EQ(catalogue.header().files, 2u);
  EXPECT_EQ(catalogue.header().folders, 2u);
  EXPECT_EQ(catalogue.header().symlinks, 1u);
  EXPECT_EQ(catalogue.header().total_bytes, 120u);
  EXPECT_EQ(catalogue.left_out(), (LeftOut{.special = 1, .unreadable = 2, .reserved = 3, .links = 4}));
}

TEST_F(CatalogueTest, KeepsPathsAndTargets) {
  const auto catalogue =
      make(ListingBuilder().folder("a").folder("a/b").file("a/b/c").symlink("../x y", "a/l"));
  EXPECT_EQ(catalogue->path(row_at(*catalogue, {"a", "b", "c"})), "a/b/c");
  EXPECT_EQ(catalogue->target(row_at(*catalogue, {"a", "l"})), "../x y");
  EXPECT_EQ(catalogue->name(row_at(*catalogue, {"a", "b"})), "b");
}

TEST_F(CatalogueTest, KeepsNamesThatAreNotUtf8) {
  const std::string odd = "caf\xe9 \n\xff\x01";
  const auto catalogue = make(ListingBuilder().folder(odd).file(odd + "/" + odd));
  EXPECT_EQ(catalogue->path(row_at(*catalogue, {odd, odd})), odd + "/" + odd);
  EXPECT_EQ(catalogue->find(catalogue->root(), "caf"), nullptr);
}

TEST_F(CatalogueTest, TellsNamesApartThatBeginAlike) {
  const auto catalogue = make(ListingBuilder().file("a").file("aa").file(std::string(255, 'a')));
  for (const std::string& name : {std::string("a"), std::string("aa"), std::string(255, 'a')})
    EXPECT_EQ(catalogue->name(*catalogue->find(catalogue->root(), name)), name);
  EXPECT_EQ(catalogue->find(catalogue->root(), "aaa"), nullptr);
  EXPECT_EQ(catalogue->find(catalogue->root(), ""), nullptr);
}

TEST_F(CatalogueTest, HardLinksShareARow) {
  const auto catalogue =
      make(ListingBuilder().folder("d").file("one").hard_link("one", "d/two").file("other"));
  EXPECT_EQ(catalogue->find(catalogue->root(), "one")->row,
            catalogue->find(row_at(*catalogue, {"d"}), "two")->row);
  EXPECT_EQ(catalogue->row_count(), 4u);
  EXPECT_EQ(catalogue->header().files, 2u);
  EXPECT_EQ(catalogue->header().total_bytes, 20u);
  EXPECT_EQ(catalogue->stat(row_at(*catalogue, {"one"})).links, 2u);
}

TEST_F(CatalogueTest, FindsEveryIdAndNoOther) {
  const auto catalogue = make(ListingBuilder().folder("d").file("a").file("d/b"));
  for (std::uint32_t i = 0; i < catalogue->row_count(); ++i)
    EXPECT_EQ(catalogue->find(NodeId{catalogue->row(i).id}), &catalogue->row(i));
  EXPECT_EQ(catalogue->find(NodeId{0}), nullptr);
  EXPECT_EQ(catalogue->find(NodeId{5}), nullptr);
  EXPECT_EQ(catalogue->find(NodeId{UINT64_MAX}), nullptr);
}

TEST_F(CatalogueTest, FindsIdsWhenThereAreHolesBetweenThem) {
  ListingBuilder first;
  for (int i = 0; i < 50; ++i) first.file("f" + std::to_string(i));
  const auto before = maker.tree(first);
  ListingBuilder second;
  for (int i = 0; i < 50; i += 3) second.file("f" + std::to_string(i));
  for (int i = 0; i < 5; ++i) second.file("g" + std::to_string(i));
  maker.write(second.listing(), before.get());
  const Catalogue catalogue(maker.catalogue_path());
  std::set<std::uint64_t> ids;
  for (std::uint32_t i = 0; i < catalogue.row_count(); ++i) ids.insert(catalogue.row(i).id);
  for (std::uint64_t id = 0; id < catalogue.header().next_id + 2; ++id) {
    const Catalogue::Row* row = catalogue.find(NodeId{id});
    ASSERT_EQ(row != nullptr, ids.contains(id)) << id;
    if (row != nullptr) {
      EXPECT_EQ(row->id, id);
    }
  }
}

TEST_F(CatalogueTest, AFolderOfAHundredThousandAnswersItsNamesAndListsEachOnce) {
  constexpr int kCount = 100'000;
  ListingBuilder builder;
  builder.folder("big");
  for (int i = 0; i < kCount; ++i) builder.file("big/image_" + std::to_string(i) + ".jpg");
  const auto catalogue = make(builder);
  const Catalogue::Row& big = row_at(*catalogue, {"big"});
  const auto entries = catalogue->entries(big);
  ASSERT_EQ(entries.size(), static_cast<std::size_t>(kCount));
  std::uint64_t last = 0;
  for (const auto& entry : entries) {
    const std::uint64_t hash = catalogue->hash(catalogue->name(entry));
    ASSERT_GT(hash + 1, last) << "positions must ascend without repeats";
    last = hash + 1;
  }
  for (int i = 0; i < kCount; i += 17) {
    const std::string name = "image_" + std::to_string(i) + ".jpg";
    const Catalogue::Entry* entry = catalogue->find(big, name);
    ASSERT_NE(entry, nullptr) << name;
    ASSERT_EQ(catalogue->name(*entry), name);
  }
  EXPECT_EQ(catalogue->find(big, "image_100000.jpg"), nullptr);
}

TEST_F(CatalogueTest, AListingsOrderIsTheSameInEveryCatalogueOfTheSameNames) {
  ListingBuilder forwards;
  ListingBuilder backwards;
  for (int i = 0; i < 500; ++i) forwards.file("n" + std::to_string(i));
  for (int i = 499; i >= 0; --i) backwards.file("n" + std::to_string(i));
  const auto names = [](const Catalogue& catalogue) {
    std::vector<std::string> all;
    for (const auto& entry : catalogue.entries(catalogue.root())) all.emplace_back(catalogue.name(entry));
    return all;
  };
  EXPECT_EQ(names(*make(forwards)), names(*make(backwards)));
}

TEST_F(CatalogueTest, LowerBoundFindsWhereAPositionGoesOn) {
  ListingBuilder builder;
  for (int i = 0; i < 100; ++i) builder.file("n" + std::to_string(i));
  const auto catalogue = make(builder);
  const auto entries = catalogue->entries(catalogue->root());
  EXPECT_EQ(catalogue->lower_bound(catalogue->root(), 0), 0u);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint64_t hash = catalogue->hash(catalogue->name(entries[i]));
    EXPECT_EQ(catalogue->lower_bound(catalogue->root(), hash), i);
    EXPECT_EQ(catalogue->lower_bound(catalogue->root(), hash + 1), i + 1);
  }
}

TEST_F(CatalogueTest, AFileCostsAtMost96BytesAndItsName) {
  const auto bytes = [&](int count) {
    ListingBuilder builder;
    for (int i = 0; i < count; ++i) builder.file("name" + std::to_string(1'000'000 + i));
    maker.write(builder.listing());
    return std::filesystem::file_size(maker.catalogue_path());
  };
  const std::uint64_t each = (bytes(3000) - bytes(1000)) / 2000;
  EXPECT_LE(each, 96 + std::string("name1000000").size() + 1);
}

TEST(NameHash, LeavesRoomForTwoMorePositions) {
  for (int i = 0; i < 1000; ++i)
    EXPECT_LT(Catalogue::name_hash(0, std::to_string(i)), std::uint64_t{1} << 62);
  EXPECT_NE(Catalogue::name_hash(0, "a"), Catalogue::name_hash(1, "a"));
}

}  // namespace
}  // namespace winnow
