#include "fs/snapshots.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "cache/directory_source.h"
#include "tests/cache/answer.h"
#include "tests/cache/faulty_source.h"
#include "tests/cache/temporary_folder.h"
#include "tests/fs/snapshot_maker.h"

namespace winnow {
namespace {

using Kind = Snapshots::Verdict::Kind;

struct SnapshotsTest : testing::Test {
  SnapshotsTest() {
    data.file("d/a", "first content");
    data.file("d/b", "other");
    data.file("gone", "x");
    take_snapshot(source, state, false, nullptr, progress);
    snapshots = std::make_unique<Snapshots>(source, state, false, state.open_tree());
  }
  FileRef ref(const std::string& path) const {
    const auto tree = snapshots->tree();
    const auto node = at_path(*tree, path);
    return {sample_of(node->id), tree->path(*node), node->stat.version};
  }

  TemporaryFolder data;
  TemporaryFolder place;
  DirectorySource directory{data.path(), false};
  FaultySource source{directory};
  StateDir state{place / "state"};
  ScanProgress progress;
  std::unique_ptr<Snapshots> snapshots;
};

TEST_F(SnapshotsTest, ARefreshBringsInWhatIsNewGoneAndChanged) {
  const auto before = snapshots->tree();
  data.file("d/new", "n");
  data.remove("gone");
  data.replace("d/a", "second content");
  const KernelChanges changes = snapshots->refresh(progress);
  EXPECT_EQ(changes.added, 1u);
  EXPECT_EQ(changes.removed, 1u);
  EXPECT_EQ(changes.changed, 1u);
  const auto after = snapshots->tree();
  EXPECT_TRUE(at_path(*after, "d/new"));
  EXPECT_FALSE(at_path(*after, "gone"));
  EXPECT_NE(id_at(*after, "d/a"), id_at(*before, "d/a"));
  EXPECT_EQ(id_at(*after, "d/b"), id_at(*before, "d/b"));
  EXPECT_TRUE(at_path(*before, "gone")) << "who holds the old tree still reads it";
}

TEST_F(SnapshotsTest, ARefreshThatFailsChangesNothingAndSaysWhere) {
  const auto before = snapshots->tree();
  const std::string saved = place.content("state/catalogue");
  source.fail_list(EIO, "/data/broken");
  try {
    snapshots->refresh(progress);
    FAIL() << "refreshed";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find("/data/broken"), std::string::npos) << error.what();
  }
  EXPECT_EQ(snapshots->tree(), before);
  EXPECT_EQ(place.content("state/catalogue"), saved);
}

TEST_F(SnapshotsTest, ARefreshOutlivesARestart) {
  data.file("d/new", "n");
  snapshots->refresh(progress);
  EXPECT_EQ(id_at(*state.open_tree(), "d/new"), id_at(*snapshots->tree(), "d/new"));
}

TEST_F(SnapshotsTest, AChangedFileIsStaleUnderItsNameAndHasANewId) {
  const FileRef old = ref("d/a");
  data.replace("d/a", "second content!");
  const auto verdict = snapshots->examine(old, true);
  EXPECT_EQ(verdict.kind, Kind::kStale);
  ASSERT_EQ(verdict.names.size(), 1u);
  EXPECT_EQ(verdict.names[0].name, "a");
  EXPECT_EQ(value(verdict.names[0].folder), id_at(*snapshots->tree(), "d"));
  const FileRef now = ref("d/a");
  EXPECT_NE(now.id, old.id);
  EXPECT_EQ(now.version, directory.stat("d/a").value().version);
  EXPECT_FALSE(snapshots->tree()->find(node_of(old.id)));
}

TEST_F(SnapshotsTest, AFileFoundStaleTwiceIsNoticedOnceAndNamedBothTimes) {
  const FileRef old = ref("d/a");
  data.replace("d/a", "second content!");
  EXPECT_TRUE(snapshots->examine(old, true).noticed_first);
  const auto again = snapshots->examine(old, true);
  EXPECT_EQ(again.kind, Kind::kStale);
  EXPECT_FALSE(again.noticed_first);
  ASSERT_EQ(again.names.size(), 1u) << "who comes second may have to tell the kernel too";
  EXPECT_EQ(again.names[0].path, "d/a");
}

TEST_F(SnapshotsTest, ARemovedFileIsStaleAndGone) {
  const FileRef old = ref("gone");
  data.remove("gone");
  EXPECT_EQ(snapshots->examine(old, false).kind, Kind::kStale);
  EXPECT_FALSE(at_path(*snapshots->tree(), "gone"));
}

TEST_F(SnapshotsTest, AFileThatBecameAFolderIsStaleAndGone) {
  const FileRef old = ref("gone");
  data.remove("gone");
  data.folder("gone");
  EXPECT_EQ(snapshots->examine(old, false).kind, Kind::kStale);
  EXPECT_FALSE(at_path(*snapshots->tree(), "gone")) << "a folder comes with the next refresh";
}

TEST_F(SnapshotsTest, AFileOfWhichNothingWasServedMayChangeItsCtimeUnderTheSameId) {
  const FileRef old = ref("d/a");
  data.change_mode("d/a", 0600);
  const auto verdict = snapshots->examine(old, false);
  EXPECT_EQ(verdict.kind, Kind::kRetry);
  EXPECT_TRUE(verdict.adopted);
  EXPECT_EQ(verdict.version, directory.stat("d/a").value().version);
  EXPECT_EQ(ref("d/a").id, old.id);
  EXPECT_EQ(at_path(*snapshots->tree(), "d/a")->stat.mode, S_IFREG | 0600u);
}

TEST_F(SnapshotsTest, AFileThatWasServedIsStaleWhenOnlyItsCtimeMoved) {
  const FileRef old = ref("d/a");
  data.change_mode("d/a", 0600);
  EXPECT_EQ(snapshots->examine(old, true).kind, Kind::kStale);
  EXPECT_NE(ref("d/a").id, old.id);
}

TEST_F(SnapshotsTest, AFileThatIsWhatItWasIsTriedAgain) {
  const FileRef same = ref("d/a");
  const auto verdict = snapshots->examine(same, true);
  EXPECT_EQ(verdict.kind, Kind::kRetry);
  EXPECT_EQ(verdict.version, same.version);
}

TEST_F(SnapshotsTest, AFetchOfAnOlderVersionOfTheSameIdIsTriedWithTheNewOne) {
  const FileRef old = ref("d/a");
  data.change_mode("d/a", 0600);
  snapshots->examine(old, false);
  const auto late = snapshots->examine(old, true);
  EXPECT_EQ(late.kind, Kind::kRetry);
  EXPECT_EQ(late.version, ref("d/a").version);
}

TEST_F(SnapshotsTest, ASourceThatDoesNotAnswerIsAnErrorAndChangesNothing) {
  const FileRef old = ref("d/a");
  data.replace("d/a", "second content!");
  source.fail_stat(EIO);
  const auto verdict = snapshots->examine(old, true);
  EXPECT_EQ(verdict.kind, Kind::kError);
  EXPECT_EQ(verdict.error, errno_error(EIO));
  EXPECT_EQ(ref("d/a").id, old.id);
}

TEST_F(SnapshotsTest, HardLinksThatCameApartAreGoneUntilTheNextRefresh) {
  data.hard_link("d/a", "twin");
  snapshots->refresh(progress);
  const FileRef old = ref("d/a");
  ASSERT_EQ(ref("twin").id, old.id);
  data.replace("twin", "a file of its own");
  const auto verdict = snapshots->examine(old, true);
  EXPECT_EQ(verdict.kind, Kind::kStale);
  EXPECT_EQ(verdict.names.size(), 2u);
  EXPECT_FALSE(at_path(*snapshots->tree(), "twin"));
  snapshots->refresh(progress);
  EXPECT_NE(ref("twin").id, ref("d/a").id);
}

TEST_F(SnapshotsTest, WhatAnExaminationFoundIsCarriedIntoTheNextSnapshot) {
  const FileRef old = ref("d/a");
  data.replace("d/a", "second content!");
  snapshots->examine(old, true);
  const FileRef amended = ref("d/a");
  const KernelChanges changes = snapshots->refresh(progress);
  EXPECT_EQ(ref("d/a").id, amended.id);
  EXPECT_EQ(changes.changed, 0u) << "the kernel was told already";
}

TEST_F(SnapshotsTest, ReadersAndExaminersGoOnWhileSnapshotsAreTaken) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        const auto tree = snapshots->tree();
        ASSERT_TRUE(at_path(*tree, "d/b"));
        tree->list(*at_path(*tree, "d"), 0,
                   [](std::string_view, const Node&, std::uint64_t) { return true; });
      }
    });
  }
  threads.emplace_back([&] {
    while (!done) {
      const auto tree = snapshots->tree();
      if (const auto node = at_path(*tree, "d/a"))
        snapshots->examine({sample_of(node->id), "d/a", node->stat.version}, true);
    }
  });
  for (int i = 0; i < 8; ++i) {
    data.replace("d/a", std::string(static_cast<std::size_t>(i + 1), 'x'));
    snapshots->refresh(progress);
  }
  done = true;
  for (auto& thread : threads) thread.join();
  snapshots->refresh(progress);
  EXPECT_EQ(at_path(*snapshots->tree(), "d/a")->stat.version.size, 8u);
}

TEST(MeansChanged, TellsAChangedFileFromABrokenSource) {
  for (const int code : {ESTALE, ENOENT, ENOTDIR, EISDIR, ELOOP, EXDEV})
    EXPECT_TRUE(means_changed(errno_error(code)));
  for (const int code : {EIO, EACCES, ETIMEDOUT, ENOTCONN, EMFILE})
    EXPECT_FALSE(means_changed(errno_error(code)));
}

}  // namespace
}  // namespace winnow
