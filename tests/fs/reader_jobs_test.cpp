#include "fs/reader_jobs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

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
    begun += jobs.on_access(*tree, out_of_order(i), 7, 7, now).begins_epoch;
    begun += jobs.on_access(*tree, out_of_order(i + 5), 8, 8, now).begins_epoch;
  }
  EXPECT_EQ(begun, 2);
  EXPECT_TRUE(jobs.find(7)->watch.is_job() && jobs.find(8)->watch.is_job());
  EXPECT_EQ(jobs.find(9), nullptr);
  EXPECT_TRUE(jobs.was_read(sample_of(out_of_order(64).id), *jobs.find(8)));
  EXPECT_TRUE(jobs.was_read(sample_of(out_of_order(64).id), *jobs.find(7))) << "they may share the data set";
  EXPECT_FALSE(jobs.was_read(sample_of(out_of_order(90).id), *jobs.find(8)));
}

TEST_F(ReaderJobsTest, OfJobsThatEachReadEverythingOneReadsNothingForAnother) {
  for (int i = 0; i < 200; ++i) {
    for (const int group : {7, 8}) jobs.on_access(*tree, out_of_order(i), group, group, now);
  }
  ASSERT_EQ(jobs.find(7)->watch.epoch(), 2u);
  jobs.on_access(*tree, out_of_order(3), 7, 7, now);
  EXPECT_TRUE(jobs.was_read(sample_of(out_of_order(3).id), *jobs.find(7)));
  EXPECT_FALSE(jobs.was_read(sample_of(out_of_order(3).id), *jobs.find(8)));
}

TEST_F(ReaderJobsTest, ThreadsThatEachReadInOrderAreWalkersHoweverManyThereAre) {
  std::vector<Node> by_name = files;
  std::sort(by_name.begin(), by_name.end(),
            [this](const Node& a, const Node& b) { return tree->path(a) < tree->path(b); });
  // Four at a time, of 50 files each, taking turns; then 200 of one file each.
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t walker = 0; walker < 4; ++walker)
      jobs.on_access(*tree, by_name[walker * 50 + i], 7, 100 + static_cast<int>(walker), now);
  }
  for (int i = 0; i < 200; ++i) jobs.on_access(*tree, out_of_order(i), 8, 1000 + i, now);
  EXPECT_FALSE(jobs.find(7)->watch.is_job());
  EXPECT_FALSE(jobs.find(8)->watch.is_job());
  for (int i = 0; i < 1000; ++i) jobs.on_access(*tree, out_of_order(0), 9, 1000 + i, now);
  EXPECT_EQ(jobs.find(9)->last_reads.size(), ReaderJobs::kMostReaders);
}

TEST_F(ReaderJobsTest, WorkersThatShareAShuffledOrderByBatchesAreAJob) {
  for (int i = 0; i < 64; ++i) jobs.on_access(*tree, out_of_order(i * 31), 7, 100 + i / 8 % 4, now);
  EXPECT_TRUE(jobs.find(7)->watch.is_job());
}

TEST_F(ReaderJobsTest, ReadingInTheOrderOfListingsIsAWalk) {
  std::vector<Node> listed;
  tree->list(*at_path(*tree, "a"), 0, [&](std::string_view, const Node& file, std::uint64_t) {
    listed.push_back(file);
    return true;
  });
  for (const Node& file : listed) jobs.on_access(*tree, file, 7, 7, now);
  EXPECT_FALSE(jobs.find(7)->watch.is_job());
}

TEST_F(ReaderJobsTest, AFolderOfTheRootThatAJobHadNotReadFromIsNews) {
  std::vector<Node> in_a;
  for (const Node& file : files) {
    if (tree->path(file).starts_with("a/")) in_a.push_back(file);
  }
  for (int i = 0; i < 60; ++i) {
    const auto news = jobs.on_access(*tree, in_a[static_cast<std::size_t>(i * 67) % in_a.size()], 7, 7, now);
    EXPECT_FALSE(news.new_folder);
  }
  EXPECT_EQ(jobs.on_access(*tree, *at_path(*tree, "b/f1001"), 7, 7, now).new_folder, "b");
  EXPECT_FALSE(jobs.on_access(*tree, *at_path(*tree, "b/f1002"), 7, 7, now).new_folder);
}

TEST_F(ReaderJobsTest, ForgetThoseThatEndedOrAreLongSilent) {
  for (int i = 0; i < 60; ++i) jobs.on_access(*tree, out_of_order(i), 7, 7, now);
  jobs.on_access(*tree, out_of_order(0), 8, 8, now + 1h);
  jobs.forget_gone(now + 1min, [](int) { return true; });
  EXPECT_NE(jobs.find(7), nullptr);
  jobs.forget_gone(now + 1h, [](int) { return true; });
  EXPECT_EQ(jobs.find(7), nullptr);
  jobs.forget_gone(now + 1h, [](int) { return false; });
  EXPECT_TRUE(jobs.all().empty());
}

TEST(ProcessGroup, OfAReaderThatHasEndedIsTheOneItWasSeenIn) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  ASSERT_EQ(setpgid(child, child), 0);
  ReaderGroups groups;
  EXPECT_EQ(groups.of(child), child);
  EXPECT_TRUE(is_group_alive(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_group_alive(child));
  EXPECT_EQ(groups.of(child), child) << "its last opens are looked at after its end";
  EXPECT_EQ(ReaderGroups().of(child), 0);
  EXPECT_EQ(groups.of(0), 0);
  EXPECT_TRUE(is_group_alive(0)) << "who cannot be told apart is not known to have ended";
}

}  // namespace
}  // namespace winnow
