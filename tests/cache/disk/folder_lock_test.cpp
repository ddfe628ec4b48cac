#include "cache/disk/folder_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "cache/result.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

using namespace std::chrono_literals;

struct FolderLockTest : testing::Test {
  // A mount that lives: its lock file is locked.
  FileDescriptor live(const std::string& name) const {
    FileDescriptor file(open((place / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(flock(file.get(), LOCK_EX | LOCK_NB), 0);
    return file;
  }
  FolderLock lock(const std::string& owner) const {
    return FolderLock(place / "disk", owner.empty() ? "" : place / owner, 0ms);
  }
  TemporaryFolder place;
};

TEST_F(FolderLockTest, KeepsEverybodyElseOut) {
  const FileDescriptor mount = live("one");
  const FolderLock held = lock("one");
  EXPECT_THROW(lock("two"), StartupError);
  EXPECT_THROW(lock(""), StartupError);
}

TEST_F(FolderLockTest, ItsOwnerTakesItOverFromAProcessThatCannotDie) {
  const FileDescriptor mount = live("one");
  const FolderLock stuck = lock("one");
  EXPECT_NO_THROW(lock("one"));
}

TEST_F(FolderLockTest, OneThatWasTakenOverIsStillItsOwners) {
  const FileDescriptor mount = live("one");
  { const FolderLock stuck = lock("one"); }  // it died at last, and its lock with it
  EXPECT_THROW(lock("two"), StartupError);
}

TEST_F(FolderLockTest, IsFreeWhenItsOwnerHasEnded) {
  {
    const FileDescriptor mount = live("one");
    const FolderLock held = lock("one");
  }
  EXPECT_NO_THROW(lock("two"));
}

TEST_F(FolderLockTest, WithoutAnOwnerNobodySucceeds) {
  const FolderLock held = lock("");
  EXPECT_THROW(lock(""), StartupError);
}

}  // namespace
}  // namespace winnow
