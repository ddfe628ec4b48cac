#include "fs/access_tracker.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

TEST(AccessTracker, SaysWhyItCannotStart) {
  std::string why;
  RecentOpens recent;
  EXPECT_EQ(AccessTracker::start(
                "/no/such/folder", [](NodeId, int) {}, recent, why),
            nullptr);
  EXPECT_NE(why.find("fanotify"), std::string::npos) << why;
}

TEST(AccessTracker, SeesWhatOthersOpenAndNotItsOwn) {
  if (!AccessTracker::is_permitted()) GTEST_SKIP() << "fanotify needs CAP_SYS_ADMIN";
  const TemporaryFolder folder;
  folder.file("theirs", "x");
  folder.file("ours", "x");
  const auto inode = [&](const std::string& name) {
    struct stat found {};
    EXPECT_EQ(stat((folder / name).c_str(), &found), 0);
    return static_cast<std::uint64_t>(found.st_ino);
  };
  const std::uint64_t theirs = inode("theirs");
  const std::uint64_t ours = inode("ours");

  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::uint64_t> seen;
  RecentOpens recent;
  std::string why;
  const auto tracker = AccessTracker::start(
      folder.path(),
      [&](NodeId id, int) {
        const std::lock_guard lock(mutex);
        seen.insert(value(id));
        changed.notify_all();
      },
      recent, why);
  if (!tracker) GTEST_SKIP() << "not on this filesystem: " << why;
  EXPECT_EQ(folder.content("ours"), "x");
  ASSERT_EQ(std::system(("/bin/cat '" + (folder / "theirs") + "' > /dev/null").c_str()), 0);
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return seen.contains(theirs); }));
  EXPECT_FALSE(seen.contains(ours));
}

}  // namespace
}  // namespace winnow
