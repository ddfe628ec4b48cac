#include "fs/mount_options.h"

#include <gtest/gtest.h>

#include "cache/result.h"
#include "fs/mounting.h"
#include "fs/units.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

struct MountOptionsTest : testing::Test {
  MountOptionsTest() {
    folder.folder("source");
    folder.folder("mnt");
    options.source = folder / "source";
    options.mountpoint = folder / "mnt";
    options.state_dir = folder / "state";
    options.memory_bytes = 64 << 20;
  }
  // What validate() says; every refusal also says what to do, behind a semicolon.
  std::string complaint() {
    try {
      MountOptions copy = options;
      validate(copy);
      return "";
    } catch (const StartupError& error) {
      return error.what();
    }
  }
  void expect_complaint(const std::string& part) {
    const std::string text = complaint();
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << "more than one sentence: " << text;
  }
  TemporaryFolder folder;
  MountOptions options;
};

TEST_F(MountOptionsTest, GoodOnesPassAndTouchNothing) {
  EXPECT_EQ(complaint(), "");
  EXPECT_FALSE(folder.has("state"));
}

TEST_F(MountOptionsTest, PathsAreMadeAbsoluteAndResolved) {
  folder.symlink("source", "link");
  options.source = folder / "link/../link/.";
  options.mountpoint = folder / "mnt/";
  options.state_dir = folder / "x/../state/";
  validate(options);
  EXPECT_EQ(options.source, folder / "source");
  EXPECT_EQ(options.mountpoint, folder / "mnt");
  EXPECT_EQ(options.state_dir, folder / "state");
}

TEST_F(MountOptionsTest, TheDefaultStateDependsOnSourceAndMountpoint) {
  options.state_dir.clear();
  validate(options);
  EXPECT_FALSE(options.state_dir.empty());
  const std::string first = options.state_dir;
  folder.folder("mnt2");
  options.mountpoint = folder / "mnt2";
  options.state_dir.clear();
  validate(options);
  EXPECT_NE(options.state_dir, first);
}

TEST_F(MountOptionsTest, ABudgetLargerThanTheMachineIsRefused) {
  options.memory_bytes = machine_memory() + 1;
  expect_complaint("--memory");
  expect_complaint("more than this machine");
}

TEST_F(MountOptionsTest, ABudgetTooSmallToBeMeantIsRefused) {
  options.memory_bytes = (1 << 20) - 1;
  expect_complaint("at least 1M");
}

TEST_F(MountOptionsTest, NoPageCacheNeedsAnsweredOpens) {
  options.page_cache = false;
  expect_complaint("--track open");
  options.track = TrackMode::kOpen;
  EXPECT_EQ(complaint(), "");
}

TEST_F(MountOptionsTest, AMissingSourceIsRefused) {
  options.source = folder / "none";
  expect_complaint(folder / "none");
}

TEST_F(MountOptionsTest, AMissingMountpointIsRefusedWithTheCommandThatMakesIt) {
  options.mountpoint = folder / "none";
  expect_complaint("mkdir -p " + (folder / "none"));
}

TEST_F(MountOptionsTest, AMountpointThatIsAFileIsRefused) {
  folder.file("file");
  options.mountpoint = folder / "file";
  expect_complaint("is not a folder");
}

TEST_F(MountOptionsTest, AMountpointThatIsNotEmptyIsRefused) {
  folder.file("mnt/something");
  expect_complaint("is not empty");
}

TEST_F(MountOptionsTest, SourceAndMountpointMustLieApart) {
  folder.folder("source/inner");
  folder.folder("mnt/inner");
  options.mountpoint = folder / "source/inner";
  expect_complaint("lies inside the source");
  options.mountpoint = folder / "source";
  expect_complaint("mount elsewhere");
  options.mountpoint = folder / "mnt";
  options.source = folder / "mnt/inner";
  expect_complaint("lies inside the mountpoint");
}

TEST_F(MountOptionsTest, ASourceWhoseNameOnlyBeginsLikeTheMountpointsIsApart) {
  folder.folder("mnt2");
  options.source = folder / "mnt2";
  EXPECT_EQ(complaint(), "");
}

TEST_F(MountOptionsTest, TheStateMayNotLieInsideTheMountpoint) {
  options.state_dir = folder / "mnt/state";
  expect_complaint("--state-dir");
}

TEST_F(MountOptionsTest, TheStateMayNotLieInsideTheSource) {
  options.state_dir = folder / "source/state";
  expect_complaint("lies inside the source");
  options.state_dir = folder / "source";
  expect_complaint("--state-dir");
}

TEST(TrackModes, HaveNames) {
  for (const TrackMode mode : {TrackMode::kAuto, TrackMode::kFanotify, TrackMode::kOpen, TrackMode::kOff})
    EXPECT_EQ(parse_track_mode(to_string(mode)), mode);
  EXPECT_THROW(parse_track_mode("sometimes"), std::invalid_argument);
}

TEST(ResolveMountpoint, NamesAFolderThatCannotBeLookedAt) {
  const TemporaryFolder folder;
  folder.folder("real");
  folder.symlink("real", "link");
  EXPECT_EQ(resolve_mountpoint(folder / "link/none"), folder / "real/none");
  EXPECT_EQ(resolve_mountpoint(folder / "link"), folder / "real");
  EXPECT_EQ(resolve_mountpoint(folder / "none/deeper/"), folder / "none/deeper");
  EXPECT_EQ(resolve_mountpoint("/"), "/");
}

}  // namespace
}  // namespace winnow
