#include "cache/directory_scan.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <map>
#include <set>

#include "cache/file_descriptor.h"
#include "tests/cache/as_nobody.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

// A listing by path, which is easier to ask.
struct Found {
  std::map<std::string, ListedEntry> paths;
  Listing listing;
  bool has(const std::string& path) const { return paths.contains(path); }
  std::string target(const std::string& path) const { return std::string(listing.target(paths.at(path))); }
};

struct DirectoryScanTest : testing::Test {
  Result<Listing> list(bool follow, unsigned threads = 4) {
    const FileDescriptor fd(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return scan_directory(
        {.root = folder.path(), .root_fd = fd.get(), .follow_symlinks = follow, .threads = threads},
        progress);
  }
  Found scan(bool follow = false, unsigned threads = 4) {
    Found found;
    found.listing = list(follow, threads).value();
    std::vector<std::string> path_of(found.listing.entries.size());
    for (std::size_t i = 1; i < path_of.size(); ++i) {
      const ListedEntry& entry = found.listing.entries[i];
      path_of[i] =
          path_of[entry.folder] + (entry.folder == 0 ? "" : "/") + std::string(found.listing.name(entry));
      EXPECT_TRUE(found.paths.emplace(path_of[i], entry).second) << path_of[i] << " twice";
    }
    return found;
  }

  TemporaryFolder folder;
  ScanProgress progress;
};

TEST_F(DirectoryScanTest, FindsTheSameWithOneThreadAndWithMany) {
  for (int i = 0; i < 300; ++i)
    folder.file("d" + std::to_string(i % 7) + "/e" + std::to_string(i % 11) + "/f" + std::to_string(i));
  const Found one = scan(false, 1);
  const Found many = scan(false, 8);
  EXPECT_EQ(one.paths.size(), 300u + 7 + 77);
  ASSERT_EQ(one.paths.size(), many.paths.size());
  for (const auto& [path, entry] : one.paths) {
    ASSERT_TRUE(many.has(path)) << path;
    EXPECT_EQ(entry.stat.version, many.paths.at(path).stat.version);
  }
}

TEST_F(DirectoryScanTest, ShowsLinksAsLinksWithTheirTargets) {
  folder.file("real");
  folder.symlink("real", "link");
  folder.symlink("/no/where", "dangling");
  const Found found = scan();
  EXPECT_TRUE(S_ISLNK(found.paths.at("link").stat.mode));
  EXPECT_EQ(found.target("link"), "real");
  EXPECT_EQ(found.target("dangling"), "/no/where");
  EXPECT_EQ(found.listing.left_out, LeftOut{});
}

TEST_F(DirectoryScanTest, LeavesOutAndCountsFifosSocketsAndDevices) {
  folder.file("plain");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  const FileDescriptor socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder / "socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const Found found = scan();
  EXPECT_EQ(found.paths.size(), 1u);
  EXPECT_EQ(found.listing.left_out, LeftOut{.special = 2});
}

TEST_F(DirectoryScanTest, TheNameWinnowIsReservedInTheRootOnly) {
  folder.file(".winnow/inner");
  folder.file("below/.winnow");
  const Found found = scan();
  EXPECT_FALSE(found.has(".winnow"));
  EXPECT_TRUE(found.has("below/.winnow"));
  EXPECT_EQ(found.listing.left_out, LeftOut{.reserved = 1});
}

TEST_F(DirectoryScanTest, KeepsNamesThatAreNotUtf8) {
  const std::string name = "caf\xe9\n\x01 \xff";
  folder.file(name, "x");
  EXPECT_TRUE(scan().has(name));
}

TEST_F(DirectoryScanTest, AFolderThatMayNotBeReadIsShownEmptyAndCounted) {
  folder.file("closed/inner");
  folder.file("open/inner");
  chmod(folder.path().c_str(), 0755);
  chmod((folder / "closed").c_str(), 0);
  {
    const AsNobody nobody;
    const Found found = scan();
    EXPECT_TRUE(found.has("closed"));
    EXPECT_FALSE(found.has("closed/inner"));
    EXPECT_TRUE(found.has("open/inner"));
    EXPECT_EQ(found.listing.left_out, LeftOut{.unreadable = 1});
  }
  chmod((folder / "closed").c_str(), 0700);
}

TEST_F(DirectoryScanTest, ARootThatMayNotBeReadFailsTheScanAndSaysWhere) {
  folder.folder("inner");
  chmod(folder.path().c_str(), 0);
  {
    // Opened while that was allowed, as a daemon holds it.
    const FileDescriptor fd(open(folder.path().c_str(), O_PATH | O_CLOEXEC));
    const AsNobody nobody;
    const auto listing = scan_directory({.root = folder.path(), .root_fd = fd.get()}, progress);
    EXPECT_EQ(listing.error(), errno_error(EACCES));
    EXPECT_EQ(progress.failed_at, folder.path());
  }
  chmod(folder.path().c_str(), 0700);
}

TEST_F(DirectoryScanTest, FollowedLinksAreWhatTheyPointTo) {
  folder.file("real/file", "12345");
  folder.symlink("real/file", "to_file");
  folder.symlink("real", "to_folder");
  const Found found = scan(true);
  EXPECT_TRUE(S_ISREG(found.paths.at("to_file").stat.mode));
  EXPECT_EQ(found.paths.at("to_file").stat.version.size, 5u);
  EXPECT_TRUE(S_ISDIR(found.paths.at("to_folder").stat.mode));
  EXPECT_TRUE(found.has("to_folder/file"));
  EXPECT_EQ(found.listing.left_out, LeftOut{});
}

TEST_F(DirectoryScanTest, FollowedLinksThatLeaveOrDangleAreLeftOutAndCounted) {
  const TemporaryFolder elsewhere;
  elsewhere.file("secret");
  folder.symlink(elsewhere / "secret", "leaves");
  folder.symlink(elsewhere.path(), "leaves_too");
  folder.symlink("../..", "climbs");
  folder.symlink("nowhere", "dangles");
  const Found found = scan(true);
  EXPECT_TRUE(found.paths.empty());
  EXPECT_EQ(found.listing.left_out, LeftOut{.links = 4});
}

TEST_F(DirectoryScanTest, FollowedLinksThatLoopEndTheScanAllTheSame) {
  folder.symlink("self", "self");
  folder.folder("a/b");
  folder.symlink("..", "a/b/up");
  folder.symlink("../../..", "a/b/out");
  folder.symlink(".", "here");
  folder.folder("x");
  folder.folder("y");
  folder.symlink("../y", "x/to_y");
  folder.symlink("../x", "y/to_x");
  const Found found = scan(true);
  EXPECT_TRUE(found.has("x/to_y"));
  EXPECT_TRUE(found.has("y/to_x"));
  EXPECT_FALSE(found.has("x/to_y/to_x"));
  EXPECT_FALSE(found.has("a/b/up"));
  EXPECT_FALSE(found.has("here"));
  EXPECT_EQ(found.listing.left_out.links, 6u);
}

TEST_F(DirectoryScanTest, AFollowedLinkToAFifoIsLeftOutAsSpecial) {
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  folder.symlink("fifo", "to_fifo");
  EXPECT_EQ(scan(true).listing.left_out, LeftOut{.special = 2});
}

TEST_F(DirectoryScanTest, HardLinksTellOneTag) {
  folder.file("one", "x");
  folder.hard_link("one", "two");
  const Found found = scan();
  EXPECT_EQ(found.paths.at("one").stat.version, found.paths.at("two").stat.version);
  EXPECT_EQ(found.paths.at("one").stat.links, 2u);
}

TEST_F(DirectoryScanTest, ACancelledScanEndsWithEcanceled) {
  folder.file("a/b/c");
  progress.cancelled = true;
  EXPECT_EQ(list(false).error(), errno_error(ECANCELED));
}

}  // namespace
}  // namespace winnow
