// What only a directory has: symlinks, times, permissions, bad roots. The rest is in
// source_contract_test.cpp.
#include "cache/directory_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/cache/answer.h"
#include "tests/cache/as_nobody.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

std::string startup_error(const std::string& root) {
  try {
    DirectorySource source(root, false);
  } catch (const StartupError& error) {
    return error.what();
  }
  return "";
}

TEST(DirectorySource, AMissingRootIsToldWithWhatToDo) {
  const TemporaryFolder folder;
  const std::string message = startup_error(folder / "none");
  EXPECT_NE(message.find(folder / "none"), std::string::npos);
  EXPECT_NE(message.find("; name a folder that exists"), std::string::npos);
}

TEST(DirectorySource, AFileIsNoRoot) {
  const TemporaryFolder folder;
  folder.file("file");
  EXPECT_NE(startup_error(folder / "file").find("is not a folder"), std::string::npos);
}

TEST(DirectorySource, AnUnreadableRootIsToldWithWhatToDo) {
  const TemporaryFolder folder;
  folder.folder("closed");
  chmod(folder.path().c_str(), 0711);
  chmod((folder / "closed").c_str(), 0);
  const AsNobody nobody;
  EXPECT_NE(startup_error(folder / "closed").find("cannot be read"), std::string::npos);
}

TEST(DirectorySource, IsNamedByItsResolvedPath) {
  const TemporaryFolder folder;
  folder.folder("real");
  folder.symlink("real", "link");
  EXPECT_EQ(DirectorySource(folder / "link", false).identity(), "dir:" + (folder / "real"));
}

TEST(DirectorySource, ASymlinkPutInAFilesPlaceIsNotFollowed) {
  const TemporaryFolder folder;
  folder.file("source/file", "right");
  folder.file("secret", "wrong");
  DirectorySource source(folder / "source", false);
  const Version version = source.stat("file").value().version;
  folder.remove("source/file");
  folder.symlink("../secret", "source/file");
  EXPECT_FALSE(source.read("file", version, 0, 5).has_value());
}

TEST(DirectorySource, AFolderSwappedForALinkOutsideIsNotFollowed) {
  for (const bool follow : {false, true}) {
    const TemporaryFolder folder;
    folder.file("source/a/file", "right");
    folder.file("elsewhere/file", "wrong");
    DirectorySource source(folder / "source", follow);
    const Version version = source.stat("a/file").value().version;
    folder.remove("source/a");
    folder.symlink("../elsewhere", "source/a");
    EXPECT_FALSE(source.read("a/file", version, 0, 5).has_value());
    EXPECT_FALSE(source.stat("a/file").has_value());
  }
}

TEST(DirectorySource, ReadsThroughLinksWhenItFollowsThem) {
  const TemporaryFolder folder;
  folder.file("real/file", "content");
  folder.symlink("real", "link");
  DirectorySource source(folder.path(), true);
  const Version version = source.stat("link/file").value().version;
  EXPECT_EQ(to_text(source.read("link/file", version, 0, 7).value()), "content");
}

TEST(DirectorySource, AWriterWhoPutsMtimeBackIsStillNoticed) {
  const TemporaryFolder folder;
  folder.file("file", "before");
  DirectorySource source(folder.path(), false);
  const Version old = source.stat("file").value().version;
  folder.file("file", "after!");
  const timespec times[2] = {{old.mtime.seconds, old.mtime.nanoseconds},
                             {old.mtime.seconds, old.mtime.nanoseconds}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder / "file").c_str(), times, 0), 0);
  EXPECT_EQ(source.stat("file").value().version.mtime, old.mtime);
  EXPECT_EQ(source.read("file", old, 0, 6).error(), errno_error(ESTALE));
}

TEST(DirectorySource, AFifoInAFilesPlaceDoesNotHang) {
  const TemporaryFolder folder;
  folder.file("file", "content");
  DirectorySource source(folder.path(), false);
  const Version version = source.stat("file").value().version;
  folder.remove("file");
  ASSERT_EQ(mkfifo((folder / "file").c_str(), 0600), 0);
  EXPECT_EQ(source.read("file", version, 0, 7).error(), errno_error(ESTALE));
}

TEST(DirectorySource, ReadsBehindFourGibibytes) {
  const TemporaryFolder folder;
  const std::uint64_t far = 5ull << 30;
  const int fd = open((folder / "sparse").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(pwrite(fd, "far away", 8, static_cast<off_t>(far)), 8);
  close(fd);
  DirectorySource source(folder.path(), false);
  const Version version = source.stat("sparse").value().version;
  EXPECT_EQ(version.size, far + 8);
  EXPECT_EQ(to_text(source.read("sparse", version, far, 8).value()), "far away");
}

}  // namespace
}  // namespace winnow
