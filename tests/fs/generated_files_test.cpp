#include "fs/generated_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "tests/cache/answer.h"

namespace winnow {
namespace {

struct GeneratedFilesTest : testing::Test {
  GeneratedFilesTest() {
    files.add("one", [this] { return text; });
    files.add("two", [] { return std::string("second"); });
  }
  std::string content(std::size_t index) { return to_text(files.read(index, 0, 1 << 30)); }
  GeneratedFiles files;
  std::string text = "first";
};

TEST_F(GeneratedFilesTest, AreFoundByName) {
  EXPECT_EQ(files.count(), 2u);
  EXPECT_EQ(files.find("two"), 1u);
  EXPECT_EQ(files.find("three"), 2u);
  EXPECT_EQ(files.name(0), "one");
}

TEST_F(GeneratedFilesTest, AreReadOnlyRegularFiles) {
  const FileStat stat = files.renew(0);
  EXPECT_EQ(stat.mode, S_IFREG | 0444u);
  EXPECT_EQ(stat.links, 1u);
}

TEST_F(GeneratedFilesTest, AreTheirTextAndLineEnds) {
  const FileStat stat = files.renew(0);
  const std::string all = content(0);
  EXPECT_EQ(all.size(), stat.version.size);
  EXPECT_EQ(all.substr(0, 5), "first");
  EXPECT_EQ(all.find_first_not_of('\n', 5), std::string::npos);
}

TEST_F(GeneratedFilesTest, AlwaysEndWithALineEnd) {
  text = std::string(16384, 'x');
  files.renew(0);
  EXPECT_EQ(content(0).back(), '\n');
}

TEST_F(GeneratedFilesTest, ReadsGetTheContentLastMade) {
  files.renew(0);
  text = "changed";
  EXPECT_EQ(content(0).substr(0, 6), "first\n");
  files.renew(0);
  EXPECT_EQ(content(0).substr(0, 8), "changed\n");
}

TEST_F(GeneratedFilesTest, TheModificationTimeMovesAtEveryLook) {
  Timestamp last = files.renew(0).version.mtime;
  for (int i = 0; i < 1000; ++i) {
    const FileStat stat = files.renew(0);
    ASSERT_GT(stat.version.mtime, last);
    EXPECT_EQ(stat.version.ctime, stat.version.mtime);
    last = stat.version.mtime;
  }
}

TEST_F(GeneratedFilesTest, TheSizeNeverShrinks) {
  text = std::string(40'000, 'x');
  const std::uint64_t large = files.renew(0).version.size;
  EXPECT_GT(large, 40'000u);
  text = "short";
  EXPECT_EQ(files.renew(0).version.size, large);
  EXPECT_EQ(content(0).substr(0, 6), "short\n");
  EXPECT_EQ(content(0).find('x'), std::string::npos);
}

TEST_F(GeneratedFilesTest, PartsAreRead) {
  files.renew(1);
  EXPECT_EQ(to_text(files.read(1, 2, 3)), "con");
  EXPECT_EQ(files.read(1, 1 << 20, 10).size(), 0u);
}

TEST_F(GeneratedFilesTest, ALookMeansAMakingEvenWithManyAtOnce) {
  std::atomic<int> makes{0};
  GeneratedFiles counted;
  counted.add("x", [&] { return std::string(static_cast<std::size_t>(++makes) % 100, 'y'); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        counted.renew(0);
        const std::string all = to_text(counted.read(0, 0, 1 << 20));
        ASSERT_EQ(all.find_first_not_of('\n', all.find('\n')), std::string::npos);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(makes, 400);
}

}  // namespace
}  // namespace winnow
