#include "fs/request_counts.h"

#include <gtest/gtest.h>
#include <linux/fuse.h>

#include <map>
#include <thread>

namespace winnow {
namespace {

std::map<std::string, std::uint64_t> by_kind(const RequestCounts& counts) {
  std::map<std::string, std::uint64_t> found;
  for (const auto& [kind, count] : counts.by_kind())
    EXPECT_TRUE(found.emplace(kind, count).second) << kind << " twice";
  return found;
}

TEST(RequestCounts, AreEmptyAtFirst) {
  EXPECT_TRUE(RequestCounts().by_kind().empty());
  EXPECT_EQ(RequestCounts().total(), 0u);
}

TEST(RequestCounts, NameTheKindsOfTheProtocol) {
  const std::map<std::uint32_t, std::string> names = {{FUSE_LOOKUP, "lookup"},
                                                      {FUSE_FORGET, "forget"},
                                                      {FUSE_GETATTR, "getattr"},
                                                      {FUSE_READLINK, "readlink"},
                                                      {FUSE_OPEN, "open"},
                                                      {FUSE_READ, "read"},
                                                      {FUSE_STATFS, "statfs"},
                                                      {FUSE_RELEASE, "release"},
                                                      {FUSE_GETXATTR, "getxattr"},
                                                      {FUSE_LISTXATTR, "listxattr"},
                                                      {FUSE_FLUSH, "flush"},
                                                      {FUSE_INIT, "init"},
                                                      {FUSE_OPENDIR, "opendir"},
                                                      {FUSE_READDIR, "readdir"},
                                                      {FUSE_RELEASEDIR, "releasedir"},
                                                      {FUSE_ACCESS, "access"},
                                                      {FUSE_CREATE, "create"},
                                                      {FUSE_INTERRUPT, "interrupt"},
                                                      {FUSE_DESTROY, "destroy"},
                                                      {FUSE_IOCTL, "ioctl"},
                                                      {FUSE_BATCH_FORGET, "batch_forget"},
                                                      {FUSE_READDIRPLUS, "readdirplus"},
                                                      {FUSE_LSEEK, "lseek"},
                                                      {FUSE_SYNCFS, "syncfs"},
                                                      {52, "statx"}};
  for (const auto& [opcode, name] : names) {
    RequestCounts counts;
    counts.add(opcode);
    EXPECT_EQ(by_kind(counts), (std::map<std::string, std::uint64_t>{{name, 1}})) << opcode;
  }
}

TEST(RequestCounts, UnknownKindsAreCountedTogether) {
  RequestCounts counts;
  for (const std::uint32_t opcode : {0u, 7u, 60u, 63u, 64u, 4096u, UINT32_MAX}) counts.add(opcode);
  EXPECT_EQ(by_kind(counts), (std::map<std::string, std::uint64_t>{{"other", 7}}));
  EXPECT_EQ(counts.total(), 7u);
}

TEST(RequestCounts, AddUpFromManyThreads) {
  RequestCounts counts;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) counts.add(FUSE_READ);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counts.total(), 4000u);
}

}  // namespace
}  // namespace winnow
