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
  GeneratedFiles files;
  std::string text = "first";
};

TEST_F(GeneratedFilesTest, AreFoundByName) {
  EXPECT_EQ(files.count(), 2u);
  EXPECT_EQ(files.find("two"), 1u);
  EXPECT_EQ(files.find("three"), std::nullopt);
  EXPECT_EQ(files.name(0), "one");
}

TEST_F(GeneratedFilesTest, AreReadOnlyRegularFiles) {
  const FileStat stat = files.publish(0).stat;
  EXPECT_EQ(stat.mode, S_IFREG | 0444u);
  EXPECT_EQ(stat.links, 1u);
}

TEST_F(GeneratedFilesTest, AreTheirTextAndALineEnd) {
  const auto edition = files.publish(0);
  EXPECT_EQ(to_text(edition.text), "first\n");
  EXPECT_EQ(edition.stat.version.size, 6u);
}

TEST_F(GeneratedFilesTest, AnEditionKeepsItsTextWhileLaterOnesAreMade) {
  const auto first = files.publish(0);
  text = "changed";
  const auto second = files.publish(0);
  EXPECT_NE(first.number, second.number);
  EXPECT_EQ(to_text(files.edition(0, first.number)->text), "first\n");
  EXPECT_EQ(to_text(files.edition(0, second.number)->text), "changed\n");
}

TEST_F(GeneratedFilesTest, AForgottenEditionIsGone) {
  const auto first = files.publish(0);
  const auto second = files.publish(0);
  files.forget(first.number);
  EXPECT_EQ(files.edition(0, first.number), std::nullopt);
  EXPECT_TRUE(files.edition(0, second.number));
}

TEST_F(GeneratedFilesTest, AnEditionOfAnEarlierProcessIsMadeAnewAndThenStays) {
  GeneratedFiles later(1000);
  later.add("x", [this] { return text; });
  const auto again = later.edition(0, 900);
  ASSERT_TRUE(again);
  EXPECT_EQ(to_text(again->text), "first\n");
  text = "changed";
  EXPECT_EQ(to_text(later.edition(0, 900)->text), "first\n");
  EXPECT_GT(later.publish(0).number, 1000u);
  EXPECT_EQ(later.edition(7, 900)->number, 900u);  // it is the same
  EXPECT_EQ(later.edition(7, 901), std::nullopt);  // no such file
  EXPECT_EQ(later.edition(0, 1002), std::nullopt);  // never made
}

TEST_F(GeneratedFilesTest, TheOldestEditionGoesWhenThereAreTooMany) {
  const auto first = files.publish(0);
  std::uint64_t last = 0;
  for (int i = 0; i < 5000; ++i) last = files.publish(1).number;
  EXPECT_EQ(files.edition(0, first.number), std::nullopt);
  EXPECT_TRUE(files.edition(1, last));
}

TEST_F(GeneratedFilesTest, TheModificationTimeMovesWithEveryEdition) {
  Timestamp last = files.publish(0).stat.version.mtime;
  for (int i = 0; i < 1000; ++i) {
    const FileStat stat = files.publish(0).stat;
    ASSERT_GT(stat.version.mtime, last);
    EXPECT_EQ(stat.version.ctime, stat.version.mtime);
    last = stat.version.mtime;
  }
}

TEST_F(GeneratedFilesTest, EachOfManyReadersAtOnceHasATextOfItsOwn) {
  std::atomic<int> makes{0};
  GeneratedFiles counted;
  counted.add("x", [&] { return std::to_string(++makes); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const auto mine = counted.publish(0);
        ASSERT_EQ(to_text(counted.edition(0, mine.number)->text), to_text(mine.text));
        counted.forget(mine.number);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(makes, 400);
}

}  // namespace
}  // namespace winnow
