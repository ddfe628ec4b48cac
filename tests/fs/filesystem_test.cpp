#include "fs/filesystem.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/fs/mount_fixture.h"

namespace winnow {
namespace {

struct Listed {
  std::string name;
  Attributes attributes;
  std::uint64_t next = 0;
};

class FilesystemTest : public MountFixture {
 protected:
  void SetUp() override {
    data.file("d/a", "content of a");
    data.file("d/e/deep", "deep");
    data.file("top", pattern(10'000));
    data.symlink("d/a", "link");
    chmod((data / "top").c_str(), 0664);
  }
  void start_with(OwnershipOptions ownership = {}) {
    start(1 << 30, {.threads = 4}, 1, ownership);
    filesystem->generated().add("status.json",
                                [this] { return "{\"made\": " + std::to_string(++made) + "}"; });
    filesystem->generated().add("metrics", [] { return std::string("winnow_up 1\n"); });
  }
  Attributes lookup(NodeId folder, std::string_view name) { return filesystem->lookup(folder, name).value(); }
  std::error_code lookup_error(NodeId folder, std::string_view name) {
    const auto found = filesystem->lookup(folder, name);
    return found ? std::error_code() : found.error();
  }
  NodeId winnow() { return lookup(kRootNode, ".winnow").id; }
  NodeId exact() { return lookup(winnow(), "exact").id; }
  std::vector<Listed> list(NodeId folder, std::uint64_t position = 0, std::size_t most = SIZE_MAX,
                           bool gives_nodes = false) {
    std::vector<Listed> found;
    const auto result =
        filesystem->list(folder, position, gives_nodes,
                         [&](std::string_view name, const Attributes& attributes, std::uint64_t next) {
                           if (found.size() == most) return false;
                           found.push_back({std::string(name), attributes, next});
                           return true;
                         });
    EXPECT_TRUE(result.has_value());
    return found;
  }
  std::set<std::string> names(NodeId folder) {
    std::set<std::string> all;
    for (const Listed& entry : list(folder)) all.insert(entry.name);
    return all;
  }
  std::string read(NodeId which, std::uint64_t offset = 0, std::size_t size = 1 << 20) {
    Answer answer;
    filesystem->read(which, offset, size, answer.waiter());
    return answer.text();
  }
  std::error_code read_error(NodeId which) {
    Answer answer;
    filesystem->read(which, 0, 10, answer.waiter());
    return answer.error();
  }
  std::atomic<int> made{0};
};

using Names = std::set<std::string>;

TEST_F(FilesystemTest, LooksUpFilesFoldersAndLinks) {
  start_with();
  const Attributes folder = lookup(kRootNode, "d");
  EXPECT_TRUE(is_folder(folder.stat));
  const Attributes file = lookup(folder.id, "a");
  EXPECT_EQ(file.stat.version.size, 12u);
  EXPECT_FALSE(file.generated);
  EXPECT_TRUE(is_symlink(lookup(kRootNode, "link").stat));
  EXPECT_EQ(filesystem->attributes(file.id).value().stat.version, file.stat.version);
}

TEST_F(FilesystemTest, TellsMissingNamesFilesAndStaleFoldersApart) {
  start_with();
  EXPECT_EQ(lookup_error(kRootNode, "none"), errno_error(ENOENT));
  EXPECT_EQ(lookup_error(id("top"), "x"), errno_error(ENOTDIR));
  EXPECT_EQ(lookup_error(NodeId{99'999}, "x"), errno_error(ESTALE));
  EXPECT_EQ(lookup_error(kRootNode, std::string(256, 'x')), errno_error(ENAMETOOLONG));
  EXPECT_EQ(filesystem->attributes(NodeId{99'999}).error(), errno_error(ESTALE));
}

TEST_F(FilesystemTest, ShowsOtherOwnersAndTakesPermissionsAway) {
  start_with({.uid = 42, .gid = 43, .umask = 027});
  const Attributes file = lookup(kRootNode, "top");
  EXPECT_EQ(file.stat.uid, 42u);
  EXPECT_EQ(file.stat.gid, 43u);
  EXPECT_EQ(file.stat.mode, S_IFREG | 0640u);
  EXPECT_EQ(lookup(kRootNode, "link").stat.mode, S_IFLNK | 0777u);
}

TEST_F(FilesystemTest, ReadsLinks) {
  start_with();
  EXPECT_EQ(filesystem->read_link(id("link")).value(), "d/a");
  EXPECT_EQ(filesystem->read_link(id("top")).error(), errno_error(EINVAL));
  EXPECT_EQ(filesystem->read_link(NodeId{99'999}).error(), errno_error(ESTALE));
}

TEST_F(FilesystemTest, AListingBeginsWithTheDotsAndHidesWinnow) {
  start_with();
  const auto all = list(id("d"));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].name, ".");
  EXPECT_EQ(all[0].attributes.id, id("d"));
  EXPECT_EQ(all[0].next, 1u);
  EXPECT_EQ(all[1].name, "..");
  EXPECT_EQ(all[1].attributes.id, kRootNode);
  EXPECT_EQ(all[1].next, 2u);
  EXPECT_EQ(names(kRootNode), (Names{".", "..", "d", "link", "top"}));
}

TEST_F(FilesystemTest, AListingGoesOnBehindEveryPosition) {
  for (int i = 0; i < 50; ++i) data.file("many/f" + std::to_string(i));
  start_with();
  const auto whole = list(id("many"));
  ASSERT_EQ(whole.size(), 52u);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto rest = list(id("many"), whole[i].next);
    ASSERT_EQ(rest.size(), whole.size() - i - 1);
    if (!rest.empty()) {
      EXPECT_EQ(rest[0].name, whole[i + 1].name);
    }
  }
  std::vector<std::string> by_threes;
  for (std::uint64_t position = 0;;) {
    const auto some = list(id("many"), position, 3);
    if (some.empty()) break;
    for (const Listed& entry : some) by_threes.push_back(entry.name);
    position = some.back().next;
  }
  EXPECT_EQ(by_threes.size(), 52u);
}

TEST_F(FilesystemTest, ListingsRefuseFilesAndStaleNodes) {
  start_with();
  const auto visit = [](std::string_view, const Attributes&, std::uint64_t) { return true; };
  EXPECT_EQ(filesystem->list(id("top"), 0, false, visit).error(), errno_error(ENOTDIR));
  EXPECT_EQ(filesystem->list(NodeId{99'999}, 0, false, visit).error(), errno_error(ESTALE));
}

TEST_F(FilesystemTest, WinnowAnswersToItsNameInTheRootOnly) {
  start_with();
  const Attributes folder = lookup(kRootNode, ".winnow");
  EXPECT_TRUE(is_folder(folder.stat));
  EXPECT_EQ(folder.stat.mode & 0222, 0u);
  EXPECT_EQ(filesystem->attributes(folder.id).value().id, folder.id);
  EXPECT_EQ(lookup_error(id("d"), ".winnow"), errno_error(ENOENT));
  EXPECT_EQ(names(folder.id), (Names{".", "..", "exact", "status.json", "metrics"}));
  EXPECT_EQ(lookup_error(folder.id, "none"), errno_error(ENOENT));
}

TEST_F(FilesystemTest, TheListingOfWinnowGoesOnBehindEveryPosition) {
  start_with();
  const auto whole = list(winnow());
  ASSERT_EQ(whole.size(), 5u);
  for (std::size_t i = 0; i < whole.size(); ++i)
    EXPECT_EQ(list(winnow(), whole[i].next).size(), whole.size() - i - 1);
}

TEST_F(FilesystemTest, GeneratedFilesAreMadeAnewAtEveryLookup) {
  start_with();
  const Attributes first = lookup(winnow(), "status.json");
  EXPECT_TRUE(first.generated);
  const Attributes second = lookup(winnow(), "status.json");
  EXPECT_NE(second.id, first.id);
  EXPECT_EQ(shown_inode(second.id), shown_inode(first.id));
  EXPECT_GT(second.stat.version.mtime, first.stat.version.mtime);
  EXPECT_EQ(read(first.id), "{\"made\": 1}\n");
  EXPECT_EQ(read(second.id), "{\"made\": 2}\n");
  EXPECT_EQ(read(second.id).size(), filesystem->attributes(second.id).value().stat.version.size);
}

TEST_F(FilesystemTest, AForgottenEditionOfAGeneratedFileIsStale) {
  start_with();
  const Attributes edition = lookup(winnow(), "status.json");
  filesystem->forget(edition.id, 1);
  EXPECT_EQ(read_error(edition.id), errno_error(ESTALE));
  EXPECT_EQ(filesystem->attributes(edition.id).error(), errno_error(ESTALE));
}

TEST_F(FilesystemTest, ReadingWinnowItselfIsEisdir) {
  start_with();
  EXPECT_EQ(read_error(winnow()), errno_error(EISDIR));
  EXPECT_EQ(filesystem->attributes(NodeId{value(winnow()) + 77}).error(), errno_error(ESTALE));
}

TEST_F(FilesystemTest, ExactShowsTheTreeAgainWithTheSameFiles) {
  start_with();
  EXPECT_EQ(names(exact()), (Names{".", "..", "d", "link", "top"}));
  const Attributes folder = lookup(exact(), "d");
  EXPECT_NE(folder.id, id("d")) << "the kernel allows a folder one name";
  EXPECT_EQ(lookup(folder.id, "a").id, id("d/a"));
  const Attributes deeper = lookup(folder.id, "e");
  EXPECT_EQ(lookup(deeper.id, "deep").id, id("d/e/deep"));
  EXPECT_EQ(filesystem->attributes(folder.id).value().id, folder.id);
  EXPECT_EQ(lookup_error(exact(), ".winnow"), errno_error(ENOENT));
  const auto below = list(deeper.id);
  EXPECT_EQ(below[0].attributes.id, deeper.id);
  EXPECT_EQ(below[1].attributes.id, folder.id);
}

TEST_F(FilesystemTest, TheFolderAboveExactIsWinnow) {
  start_with();
  EXPECT_EQ(list(exact())[1].attributes.id, winnow());
}

TEST_F(FilesystemTest, ReadsExactBytes) {
  start_with();
  EXPECT_EQ(read(id("top")), pattern(10'000));
  EXPECT_EQ(read(id("top"), 9'990, 100), pattern(10'000).substr(9'990));
  EXPECT_EQ(read(id("top"), 10'000, 100), "");
  EXPECT_EQ(read(id("d/a")), "content of a");
  EXPECT_EQ(read_error(id("d")), errno_error(EISDIR));
  EXPECT_EQ(read_error(NodeId{99'999}), errno_error(ESTALE));
}

TEST_F(FilesystemTest, AStaleReadIsFollowedByTheNewFile) {
  start_with();
  const NodeId old = lookup(id("d"), "a").id;
  data.replace("d/a", "new content, longer");
  EXPECT_EQ(read_error(old), errno_error(ESTALE));
  const Attributes now = lookup(id("d"), "a");
  EXPECT_NE(now.id, old);
  EXPECT_EQ(now.stat.version.size, 19u);
  EXPECT_EQ(read(now.id), "new content, longer");
  EXPECT_EQ(filesystem->attributes(old).error(), errno_error(ESTALE));
}

TEST_F(FilesystemTest, AReadOfASupersededNodeTellsTheKernelBeforeItIsRefused) {
  start_with();
  const NodeId old = id("d/a");
  data.replace("d/a", "new content, longer");
  EXPECT_EQ(read_error(old), errno_error(ESTALE));
  const std::string name = "name " + std::to_string(value(id("d"))) + " a";
  EXPECT_EQ(kernel.count(name), 1u);
  EXPECT_EQ(read_error(old), errno_error(ESTALE));
  EXPECT_EQ(kernel.count(name), 2u);
}

TEST_F(FilesystemTest, AStalledSourceHoldsUpNobodyElse) {
  start_with();
  EXPECT_EQ(read(id("d/a")), "content of a");
  source.stall();
  std::vector<Answer> hanging(100);
  for (std::size_t i = 0; i < hanging.size(); ++i)
    filesystem->read(id("top"), i * 100, 100, hanging[i].waiter());
  ASSERT_TRUE(source.wait_for_stalled(1));
  EXPECT_EQ(names(kRootNode).size(), 5u);
  EXPECT_TRUE(filesystem->attributes(id("d/a")).has_value());
  EXPECT_EQ(read(lookup(winnow(), "metrics").id).substr(0, 11), "winnow_up 1");
  for (const Answer& answer : hanging) EXPECT_FALSE(answer.arrived());
  source.release();
  for (std::size_t i = 0; i < hanging.size(); ++i)
    EXPECT_EQ(hanging[i].text(), pattern(10'000).substr(i * 100, 100));
}

TEST_F(FilesystemTest, ANodeForgottenAsOftenAsGivenLeavesTheLedger) {
  start_with();
  lookup(kRootNode, "top");
  lookup(kRootNode, "top");
  list(kRootNode, 0, SIZE_MAX, true);
  list(kRootNode, 0, SIZE_MAX, false);
  EXPECT_EQ(read(id("top")), pattern(10'000));
  const SampleId sample = sample_of(id("top"));
  filesystem->forget(id("top"), 2);
  EXPECT_GT(pages->residency().bytes(sample), 0u);
  filesystem->forget(id("top"), 1);
  EXPECT_EQ(pages->residency().bytes(sample), 0u);
}

TEST_F(FilesystemTest, WhatAListingCouldNotTakeWasNotGiven) {
  start_with();
  for (std::size_t most = 0; most <= 5; ++most) list(kRootNode, 0, most, true);
  // Of the five tries, "top" was taken in those that came so far; each counts once.
  const auto order = list(kRootNode);
  std::uint64_t given = 0;
  for (std::size_t most = 0; most <= 5; ++most) {
    for (std::size_t i = 0; i < most; ++i) given += order[i].name == "top";
  }
  EXPECT_EQ(read(id("top")), pattern(10'000));
  if (given > 1) {
    filesystem->forget(id("top"), given - 1);
    EXPECT_GT(pages->residency().bytes(sample_of(id("top"))), 0u);
  }
  filesystem->forget(id("top"), 1);
  EXPECT_EQ(pages->residency().bytes(sample_of(id("top"))), 0u);
}

TEST_F(FilesystemTest, ForgettingWhatIsNotInTheCatalogueIsHarmless) {
  start_with();
  const std::uint64_t before = pages->residency().total_bytes();
  for (const NodeId node :
       {winnow(), exact(), lookup(winnow(), "metrics").id, lookup(exact(), "d").id, kRootNode})
    filesystem->forget(node, 1'000);
  EXPECT_EQ(pages->residency().total_bytes(), before);
}

TEST_F(FilesystemTest, CountsOpensOfSamplesOnly) {
  start_with();
  filesystem->note_open(id("top"), 7);
  filesystem->note_open(winnow(), 7);
  filesystem->note_open(lookup(exact(), "d").id, 7);
  EXPECT_EQ(filesystem->opens(), 1u);
}

TEST_F(FilesystemTest, TellsOfASampleInItsExtendedAttribute) {
  start_with();
  auto facts = nlohmann::json::parse(filesystem->extended_attribute(id("top"), "user.winnow").value());
  EXPECT_EQ(facts["id"], value(id("top")));
  EXPECT_EQ(facts["tier"], "source");
  EXPECT_EQ(facts["page_cache_bytes"], 0);
  read(id("top"));
  facts = nlohmann::json::parse(filesystem->extended_attribute(id("top"), "user.winnow").value());
  EXPECT_EQ(facts["tier"], "memory");
  EXPECT_EQ(facts["page_cache_bytes"], 3 * 4096);
}

TEST_F(FilesystemTest, HasNoOtherExtendedAttributes) {
  start_with();
  EXPECT_EQ(filesystem->extended_attribute(id("top"), "user.other").error(), errno_error(ENODATA));
  EXPECT_EQ(filesystem->extended_attribute(id("d"), "user.winnow").error(), errno_error(ENODATA));
  EXPECT_EQ(filesystem->extended_attribute(winnow(), "user.winnow").error(), errno_error(ENODATA));
  EXPECT_EQ(filesystem->extended_attribute(NodeId{99'999}, "user.winnow").error(), errno_error(ESTALE));
}

TEST_F(FilesystemTest, ABudgetIsKeptWhileMoreIsReadThanFits) {
  for (int i = 0; i < 40; ++i) data.file("b/" + std::to_string(i), pattern(8192, static_cast<unsigned>(i)));
  start(10 * 8192);
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(read(id("b/" + std::to_string(i))), pattern(8192, static_cast<unsigned>(i)));
  drain(*notifications);
  EXPECT_LE(pages->residency().total_bytes(), 10u * 8192);
  EXPECT_GE(pages->residency().total_bytes(), 8u * 8192) << "a little room is made at a time, an eighth at most";
  EXPECT_EQ(kernel.count("drop b/0"), 1u);
  EXPECT_EQ(kernel.count("drop b/39"), 0u);
}

}  // namespace
}  // namespace winnow
