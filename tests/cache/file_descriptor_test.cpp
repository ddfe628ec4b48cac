#include "cache/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace winnow {
namespace {

int open_null() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(FileDescriptor, IsNothingByDefault) {
  const FileDescriptor none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
}

TEST(FileDescriptor, ClosesWhatItOwns) {
  const int fd = open_null();
  {
    const FileDescriptor owner(fd);
    EXPECT_TRUE(owner);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(FileDescriptor, MovingHandsItOver) {
  const int fd = open_null();
  FileDescriptor first(fd);
  FileDescriptor second(std::move(first));
  EXPECT_FALSE(first);
  EXPECT_EQ(second.get(), fd);
  const int other = open_null();
  FileDescriptor third(other);
  third = std::move(second);
  EXPECT_EQ(third.get(), fd);
  EXPECT_FALSE(is_open(other)) << "what it held before leaked";
}

TEST(FileDescriptor, ReleasingGivesItAwayOpen) {
  FileDescriptor owner(open_null());
  const int fd = owner.release();
  EXPECT_FALSE(owner);
  EXPECT_TRUE(is_open(fd));
  owner.reset(fd);
  owner.reset();
  EXPECT_FALSE(is_open(fd));
}

}  // namespace
}  // namespace winnow
