#include "fs/reader_jobs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

using namespace std::chrono_literals;

struct ReaderJobsTest : testing::Test {
  ReaderJobsTest() {
    ListingBuilder builder;
    for (const char* folder : {"a", "b"}) {
      builder.folder(folder);
      for (int i = 0; i < 100; ++i) builder.file(std::string(folder) + "/f" + std::to_string(1000 + i), 10);
    }
    tree = maker.tree(builder);
    tree->each_file([this](const Node& file) { files.push_back(file); });
  }
  // Every third file, around and around: out of order by name and by listing.
  Node out_of_order(int i) const { return files[static_cast<std::size_t>(i * 67) % files.size()]; }

  SnapshotMaker maker;
  std::shared_ptr<Tree> tree;
  std::vector<Node> files;
  ReaderJobs jobs;
  ReaderJobs::Clock::time_point now;
};

TEST_F(ReaderJobsTest, TellGroupsApart) {
  int begun = 0;
  for (int i = 0; i < 60; ++i) {
    begun += jobs.on_access(*tree, out_of_order(i), 7, now).begins_epoch;
    begun += jobs.on_access(*tree, out_of_order(i + 5), 8, now).begins_epoch;
  }
  EXPECT_EQ(begun, 2);
  EXPECT_TRUE(jobs.find(7)->watch.is_job() && jobs.find(8)->watch.is_job());
  EXPECT_EQ(jobs.find(9), nullptr);
  EXPECT_TRUE(jobs.was_read(sample_of(out_of_order(64).id)));
  EXPECT_FALSE(jobs.was_read(sample_of(out_of_order(90).id)));
}

TEST_F(ReaderJobsTest, ReadingInTheOrderOfListingsIsAWalk) {
  std::vector<Node> listed;
  tree->list(*at_path(*tree, "a"), 0, [&](std::string_view, const Node& file, std::uint64_t) {
    listed.push_back(file);
    return true;
  });
  for (const Node& file : listed) jobs.on_access(*tree, file, 7, now);
  EXPECT_FALSE(jobs.find(7)->watch.is_job());
}

TEST_F(ReaderJobsTest, AFolderOfTheRootThatAJobHadNotReadFromIsNews) {
  std::vector<Node> in_a;
  for (const Node& file : files) {
    if (tree->path(file).starts_with("a/")) in_a.push_back(file);
  }
  for (int i = 0; i < 60; ++i) {
    const auto news = jobs.on_access(*tree, in_a[static_cast<std::size_t>(i * 67) % in_a.size()], 7, now);
    EXPECT_FALSE(news.new_folder);
  }
  EXPECT_TRUE(jobs.on_access(*tree, *at_path(*tree, "b/f1001"), 7, now).new_folder);
  EXPECT_FALSE(jobs.on_access(*tree, *at_path(*tree, "b/f1002"), 7, now).new_folder);
}

TEST_F(ReaderJobsTest, ForgetThoseThatEndedOrAreLongSilent) {
  for (int i = 0; i < 60; ++i) jobs.on_access(*tree, out_of_order(i), 7, now);
  jobs.on_access(*tree, out_of_order(0), 8, now + 1h);
  EXPECT_EQ(jobs.forget_gone(now + 1min, [](int) { return true; }), std::vector<int>());
  EXPECT_EQ(jobs.forget_gone(now + 1h, [](int) { return true; }), std::vector<int>{7});
  EXPECT_EQ(jobs.forget_gone(now + 1h, [](int) { return false; }), std::vector<int>()) << "8 was no job";
  EXPECT_TRUE(jobs.all().empty());
}

TEST(ProcessGroup, IsAliveWhileOneOfItsProcessesIs) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  ASSERT_EQ(setpgid(child, child), 0);
  EXPECT_EQ(group_of(child), child);
  EXPECT_TRUE(is_group_alive(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_group_alive(child));
  EXPECT_EQ(group_of(child), 0);
  EXPECT_EQ(group_of(0), 0);
  EXPECT_TRUE(is_group_alive(0)) << "who cannot be told apart is not known to have ended";
}

}  // namespace
}  // namespace winnow
