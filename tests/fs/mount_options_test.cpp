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

TEST_F(MountOptionsTest, AreReadBackAsTheyWereSaved) {
  options.source = "/data/\xff\n set";
  options.track = TrackMode::kOpen;
  options.refresh = std::chrono::milliseconds(600'000);
  options.source_timeout = std::chrono::milliseconds(1'500);
  options.follow_symlinks = options.allow_other = options.foreground = true;
  options.page_cache = false;
  options.log_level = "debug";
  options.watchdog = std::chrono::milliseconds(2'000);
  options.max_restarts = 3;
  options.ownership = {.uid = 12, .gid = std::nullopt, .umask = 022};
  options.s3 = {.endpoint = "http://h:1",
                .region = "r",
                .addressing = "virtual",
                .profile = "p",
                .ca_file = "/\xff.pem",
                .anonymous = true};
  save(options, folder / "mount.json");
  const MountOptions loaded = load_mount_options(folder / "mount.json");
  EXPECT_EQ(loaded.source, options.source);
  EXPECT_EQ(loaded.mountpoint, options.mountpoint);
  EXPECT_EQ(loaded.state_dir, options.state_dir);
  EXPECT_EQ(loaded.memory_bytes, options.memory_bytes);
  EXPECT_EQ(loaded.track, options.track);
  EXPECT_EQ(loaded.refresh, options.refresh);
  EXPECT_EQ(loaded.source_timeout, options.source_timeout);
  EXPECT_EQ(loaded.follow_symlinks, options.follow_symlinks);
  EXPECT_EQ(loaded.allow_other, options.allow_other);
  EXPECT_EQ(loaded.foreground, options.foreground);
  EXPECT_EQ(loaded.page_cache, options.page_cache);
  EXPECT_EQ(loaded.log_level, options.log_level);
  EXPECT_EQ(loaded.watchdog, options.watchdog);
  EXPECT_EQ(loaded.max_restarts, options.max_restarts);
  EXPECT_EQ(loaded.ownership.uid, options.ownership.uid);
  EXPECT_EQ(loaded.ownership.gid, options.ownership.gid);
  EXPECT_EQ(loaded.ownership.umask, options.ownership.umask);
  EXPECT_EQ(loaded.s3.endpoint, options.s3.endpoint);
  EXPECT_EQ(loaded.s3.region, options.s3.region);
  EXPECT_EQ(loaded.s3.addressing, options.s3.addressing);
  EXPECT_EQ(loaded.s3.profile, options.s3.profile);
  EXPECT_EQ(loaded.s3.ca_file, options.s3.ca_file);
  EXPECT_EQ(loaded.s3.anonymous, options.s3.anonymous);
}

TEST_F(MountOptionsTest, ABucketIsNoFolderOfThisMachine) {
  options.source = "s3://bucket/prefix";
  options.s3.endpoint = "https://127.0.0.1:9000/";
  MountOptions validated = options;
  validate(validated);
  EXPECT_EQ(validated.source, "s3://bucket/prefix");
  EXPECT_EQ(validated.s3.endpoint, "https://127.0.0.1:9000");
  options.source = "s3://";
  expect_complaint("names no bucket");
}

TEST_F(MountOptionsTest, OfAnotherVersionAreReadAsFarAsTheyAreKnown) {
  folder.file("mount.json", R"({"max_restarts": 7, "from_the_future": [1]})");
  const MountOptions loaded = load_mount_options(folder / "mount.json");
  EXPECT_EQ(loaded.max_restarts, 7);
  EXPECT_EQ(loaded.watchdog, MountOptions{}.watchdog);
}

TEST_F(MountOptionsTest, ThatAreDamagedAreRefused) {
  folder.file("mount.json", "{\"max_restarts\": ");
  EXPECT_THROW(load_mount_options(folder / "mount.json"), StartupError);
  EXPECT_THROW(load_mount_options(folder / "none.json"), StartupError);
}

}  // namespace
}  // namespace winnow
