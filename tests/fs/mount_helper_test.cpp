#include <gtest/gtest.h>

#include <stdexcept>

#include "fs/commands.h"

namespace winnow {
namespace {

using Words = std::vector<std::string>;

TEST(MountHelper, TurnsWordsOfMountIntoWordsOfOurs) {
  EXPECT_EQ(mount_helper_words({"/src", "/mnt"}), (Words{"mount", "/src", "/mnt"}));
  EXPECT_EQ(mount_helper_words({"/src", "/mnt", "-o", "memory=4G,refresh=10m"}),
            (Words{"mount", "/src", "/mnt", "--memory=4G", "--refresh=10m"}));
}

TEST(MountHelper, UnderscoresMayStandForDashesInNamesNotInValues) {
  EXPECT_EQ(mount_helper_words({"/src", "/mnt", "-o", "state_dir=/var/my_state,follow_symlinks"}),
            (Words{"mount", "/src", "/mnt", "--state-dir=/var/my_state", "--follow-symlinks"}));
}

TEST(MountHelper, LeavesOutWhatIsMeantForOthers) {
  EXPECT_EQ(mount_helper_words(
                {"/src", "/mnt", "-o",
                 "ro,noexec,nosuid,nodev,noauto,_netdev,nofail,user,x-systemd.automount,relatime,defaults"}),
            (Words{"mount", "/src", "/mnt"}));
}

TEST(MountHelper, AcceptsTheRwThatMountAddsByItself) {
  // mount(8) passes `-o rw` for a line without ro, and for one of `defaults`.
  EXPECT_EQ(mount_helper_words({"/src", "/mnt", "-o", "rw"}), (Words{"mount", "/src", "/mnt"}));
  EXPECT_EQ(mount_helper_words({"/src", "/mnt", "-o", "rw,memory=4G"}),
            (Words{"mount", "/src", "/mnt", "--memory=4G"}));
}

TEST(MountHelper, TakesTheFlagsOfMount) {
  EXPECT_EQ(mount_helper_words({"/src", "/mnt", "-s", "-n", "-v", "-t", "fuse.winnow", "-o", "allow_other"}),
            (Words{"mount", "/src", "/mnt", "--allow-other"}));
}

TEST(MountHelper, AWordWithoutItsValueIsToldByName) {
  try {
    mount_helper_words({"/src", "/mnt", "-o"});
    FAIL() << "taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("-o"), std::string::npos);
  }
}

}  // namespace
}  // namespace winnow
