#include "fs/mount_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cache/result.h"
#include "fs/mount_lookup.h"
#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

TEST(MountTable, KnowsTheRootAndProc) {
  const auto root = mount_at("/");
  ASSERT_TRUE(root);
  EXPECT_FALSE(root->type.empty());
  EXPECT_NE(root->device.find(':'), std::string::npos);
  const auto proc = mount_at("/proc");
  ASSERT_TRUE(proc);
  EXPECT_EQ(proc->type, "proc");
}

TEST(MountTable, KnowsNoMountWhereThereIsNone) {
  const TemporaryFolder folder;
  EXPECT_FALSE(mount_at(folder.path()));
  EXPECT_FALSE(mount_at("/proc/"));
}

TEST(MountTable, OursAreOfOurType) {
  const auto all = all_mounts();
  EXPECT_FALSE(all.empty());
  for (const MountEntry& entry : winnow_mounts()) EXPECT_EQ(entry.type, "fuse.winnow");
  const auto others =
      std::count_if(all.begin(), all.end(), [](const auto& entry) { return entry.type != "fuse.winnow"; });
  EXPECT_EQ(all.size() - static_cast<std::size_t>(others), winnow_mounts().size());
}

TEST(MountLookup, AFolderThatIsNoMountOfOursIsRefusedWithWhatToDo) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_dead_mount(folder.path()));
  for (const auto& ask : {+[](const std::string& path) { find_mount(path); },
                          +[](const std::string& path) { read_status(path); }}) {
    try {
      ask(folder.path());
      ADD_FAILURE() << "found a mount";
    } catch (const StartupError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(folder.path()), std::string::npos) << text;
      EXPECT_NE(text.find("; "), std::string::npos) << text;
    }
  }
}

TEST(MountLookup, ReadsTheStatusAMountGives) {
  const TemporaryFolder folder;
  folder.file(".winnow/status.json", "{\"pid\": 7}\n\n\n");
  EXPECT_EQ(read_status(folder.path())["pid"], 7);
  folder.file(".winnow/status.json", "{\"pid\": ");
  EXPECT_THROW(read_status(folder.path()), StartupError);
}

}  // namespace
}  // namespace winnow
