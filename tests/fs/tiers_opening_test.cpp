#include "fs/tiers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/directory_source.h"
#include "fs/state_dir.h"
#include "tests/cache/as_nobody.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

struct TiersOpeningTest : testing::Test {
  TiersOpeningTest() {
    take_snapshot(source, state, false, nullptr, progress);
    snapshots = std::make_unique<Snapshots>(source, state, false, state.open_tree());
    options.disk_bytes = 16 << 20;
    options.disk_dir = disk_folder.path();
  }

  TemporaryFolder folder;
  TemporaryFolder state_folder;
  TemporaryFolder disk_folder;
  DirectorySource source{folder.path(), false};
  StateDir state{state_folder.path()};
  ScanProgress progress;
  std::unique_ptr<Snapshots> snapshots;
  MountOptions options;
};

// Not every failure is one that the tier has a sentence for: here, listing its folder fails in the library.
TEST_F(TiersOpeningTest, ADiskThatCannotBeOpenedIsARefusalAndNotADeath) {
  ASSERT_TRUE(geteuid() != 0 || chown(disk_folder.path().c_str(), 65534, 65534) == 0);
  ASSERT_EQ(chmod(disk_folder.path().c_str(), 0300), 0);
  {
    const AsNobody ordinary;
    const Tiers successor(options, source.identity(), *snapshots, false);
    EXPECT_NE(successor.disk_refusal().find(disk_folder.path()), std::string::npos) << successor.disk_refusal();
    EXPECT_THROW(Tiers(options, source.identity(), *snapshots, true), StartupError);
  }
  chmod(disk_folder.path().c_str(), 0700);
}

}  // namespace
}  // namespace winnow
