#include "cache/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

struct BeneathTest : testing::Test {
  BeneathTest() {
    folder.file("root/a/b/file", "content");
    folder.file("outside/secret", "secret");
    folder.symlink("a/b/file", "root/to_file");
    folder.symlink("a", "root/to_folder");
    folder.symlink("../outside/secret", "root/escape");
    folder.symlink(folder / "outside/secret", "root/absolute_escape");
    folder.symlink(folder / "root/a/b/file", "root/absolute_inside");
    folder.symlink("nowhere", "root/dangling");
    folder.symlink("loop", "root/loop");
    fd.reset(open((folder / "root").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  std::error_code error_of(const std::string& path) {
    auto opened = open_beneath(fd.get(), path, O_RDONLY);
    return opened ? std::error_code() : opened.error();
  }

  TemporaryFolder folder;
  FileDescriptor fd;
};

TEST_F(BeneathTest, OpensFilesFoldersAndTheRootItself) {
  EXPECT_FALSE(error_of("a/b/file"));
  EXPECT_FALSE(error_of("a"));
  EXPECT_FALSE(error_of(""));
}

TEST_F(BeneathTest, RefusesSymlinksAnywhereOnTheWay) {
  EXPECT_EQ(error_of("to_file"), errno_error(ELOOP));
  EXPECT_EQ(error_of("to_folder/b/file"), errno_error(ELOOP));
  EXPECT_EQ(error_of("escape"), errno_error(ELOOP));
}

TEST_F(BeneathTest, RefusesToClimbOut) {
  EXPECT_EQ(error_of("../outside/secret"), errno_error(EXDEV));
  EXPECT_EQ(error_of(folder / "outside/secret"), errno_error(EXDEV));
}

TEST_F(BeneathTest, OpenedDescriptorsDoNotLeakIntoChildren) {
  auto opened = open_beneath(fd.get(), "a/b/file", O_RDONLY);
  EXPECT_NE(fcntl(opened.value().get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(BeneathTest, ResolvesLinksThatStayInside) {
  const std::string root = folder / "root";
  EXPECT_EQ(resolve_beneath(root, "to_file").value(), "a/b/file");
  EXPECT_EQ(resolve_beneath(root, "to_folder/b").value(), "a/b");
  EXPECT_EQ(resolve_beneath(root, "absolute_inside").value(), "a/b/file");
  EXPECT_EQ(resolve_beneath(root, "").value(), "");
}

TEST_F(BeneathTest, RefusesLinksThatLeaveDangleOrLoop) {
  const std::string root = folder / "root";
  EXPECT_EQ(resolve_beneath(root, "escape").error(), errno_error(EXDEV));
  EXPECT_EQ(resolve_beneath(root, "absolute_escape").error(), errno_error(EXDEV));
  EXPECT_EQ(resolve_beneath(root, "dangling").error(), errno_error(ENOENT));
  EXPECT_EQ(resolve_beneath(root, "loop").error(), errno_error(ELOOP));
}

TEST_F(BeneathTest, AFolderWhoseNameBeginsLikeTheRootIsOutside) {
  folder.file("root2/file");
  folder.symlink("../root2/file", "root/to_root2");
  EXPECT_EQ(resolve_beneath(folder / "root", "to_root2").error(), errno_error(EXDEV));
}

TEST_F(BeneathTest, OpensThroughLinksOnlyInside) {
  const std::string root = folder / "root";
  EXPECT_TRUE(open_resolved_beneath(root, fd.get(), "to_folder/b/file", O_RDONLY).has_value());
  EXPECT_EQ(open_resolved_beneath(root, fd.get(), "escape", O_RDONLY).error(), errno_error(EXDEV));
}

TEST_F(BeneathTest, StatTellsOfALinkItself) {
  const auto link = stat_at(fd.get(), "to_file");
  ASSERT_TRUE(link.has_value());
  EXPECT_TRUE(S_ISLNK(link.value().mode));
}

TEST_F(BeneathTest, StatAgreesWithTheSystem) {
  struct stat expected {};
  ASSERT_EQ(stat((folder / "root/a/b/file").c_str(), &expected), 0);
  const FileStat found = stat_at(fd.get(), "a/b/file").value();
  EXPECT_EQ(found.mode, expected.st_mode);
  EXPECT_EQ(found.uid, expected.st_uid);
  EXPECT_EQ(found.gid, expected.st_gid);
  EXPECT_EQ(found.links, expected.st_nlink);
  EXPECT_EQ(found.version.tag, expected.st_ino);
  EXPECT_EQ(found.version.size, 7u);
  EXPECT_EQ(found.version.mtime.seconds, expected.st_mtim.tv_sec);
  EXPECT_EQ(found.version.mtime.nanoseconds, expected.st_mtim.tv_nsec);
  EXPECT_EQ(found.version.ctime.seconds, expected.st_ctim.tv_sec);
}

TEST_F(BeneathTest, StatOfADescriptorNeedsNoName) {
  EXPECT_TRUE(S_ISDIR(stat_at(fd.get(), "").value().mode));
  EXPECT_EQ(stat_at(fd.get(), "missing").error(), errno_error(ENOENT));
}

TEST(JoinPath, PutsOneSlashBetween) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(join_path("a", ""), "a");
  EXPECT_EQ(join_path("/", "b"), "/b");
}

}  // namespace
}  // namespace winnow
