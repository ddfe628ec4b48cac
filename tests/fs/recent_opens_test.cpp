#include "fs/recent_opens.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <vector>

namespace winnow {
namespace {

FileDescriptor some_file() { return FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }

TEST(RecentOpens, AreNotKeptUntilOneIsAskedFor) {
  RecentOpens recent;
  FileDescriptor file = some_file();
  const int number = file.get();
  recent.add(NodeId{1}, std::move(file));
  EXPECT_FALSE(is_open(number)) << "it would keep the mount busy for nothing";
}

TEST(RecentOpens, AreHandedOverOnce) {
  RecentOpens recent;
  EXPECT_FALSE(recent.take(NodeId{1}));
  FileDescriptor file = some_file();
  const int number = file.get();
  recent.add(NodeId{1}, std::move(file));
  EXPECT_FALSE(recent.take(NodeId{2}));
  EXPECT_EQ(recent.take(NodeId{1}).get(), number);
  EXPECT_FALSE(recent.take(NodeId{1}));
}

TEST(RecentOpens, TheOldestIsClosedForTheNext) {
  RecentOpens recent;
  EXPECT_FALSE(recent.take(NodeId{1}));
  std::vector<int> numbers;
  for (std::uint64_t id = 1; id <= RecentOpens::kMost; ++id) {
    FileDescriptor file = some_file();
    numbers.push_back(file.get());
    recent.add(NodeId{id}, std::move(file));
  }
  FileDescriptor next = some_file();
  recent.add(NodeId{1000}, std::move(next));
  EXPECT_FALSE(is_open(numbers[0]));
  EXPECT_TRUE(is_open(numbers[1]));
  EXPECT_FALSE(recent.take(NodeId{1}));
  EXPECT_TRUE(recent.take(NodeId{2}));
  EXPECT_TRUE(recent.take(NodeId{1000}));
}

TEST(RecentOpens, ClearingClosesAllAndKeepsNoMore) {
  RecentOpens recent;
  EXPECT_FALSE(recent.take(NodeId{1}));
  FileDescriptor file = some_file();
  const int number = file.get();
  recent.add(NodeId{1}, std::move(file));
  recent.clear();
  EXPECT_FALSE(is_open(number));
  recent.add(NodeId{1}, some_file());
  EXPECT_FALSE(recent.take(NodeId{1}));
}

}  // namespace
}  // namespace winnow
