#include "fs/warm.h"

#include <gtest/gtest.h>

#include "cache/directory_source.h"
#include "fs/state_dir.h"
#include "tests/cache/temporary_folder.h"
#include "tests/fs/fake_kernel_cache.h"
#include "tests/fs/mount_fixture.h"

namespace winnow {
namespace {

// A source whose bytes can turn into others under the same version, which a real one promises not to do.
class LyingSource final : public Source {
 public:
  explicit LyingSource(Source& truth) : truth_(truth) {}
  std::string identity() const override { return truth_.identity(); }
  Result<Listing> list(ScanProgress& progress) override { return truth_.list(progress); }
  Result<FileStat> stat(const std::string& path) override { return truth_.stat(path); }
  Result<Bytes> read(const std::string& path, const Version& version, std::uint64_t offset, std::size_t size) override {
    const auto bytes = truth_.read(path, version, offset, size);
    if (!bytes || path != lies_about) return bytes;
    const std::shared_ptr<std::byte[]> other(new std::byte[size]());
    return Bytes(other, bytes.value().size());
  }
  std::string lies_about;

 private:
  Source& truth_;
};

struct WarmTest : testing::Test {
  WarmTest() {
    for (int i = 0; i < 50; ++i) folder.file("d/f" + std::to_string(100 + i), std::string(5000, static_cast<char>('a' + i % 26)));
    take_snapshot(source, state, false, nullptr, progress);
    snapshots = std::make_unique<Snapshots>(source, state, false, state.open_tree());
    notifications = std::make_unique<WorkerPool>(WorkerPool::Options{.name = "test-notify", .max_threads = 1});
    MountOptions options;
    options.disk_bytes = 16 << 20;
    options.disk_dir = disk_folder.path();
    options.page_cache = false;
    tiers = std::make_unique<Tiers>(options, source.identity(), *snapshots, true);
    reads = std::make_unique<ReadPath>(source, tiers->near(), *snapshots, kernel, *notifications, nullptr,
                                       FetchOptions{.threads = 4});
    tiers->attach(nullptr, *reads, [](NodeId) { return true; });
    tiers->adopt();
    warm = std::make_unique<Warm>(*snapshots, *tiers, source, "/nowhere");
  }
  void TearDown() override {
    reads->stop();
    notifications->stop();
  }

  TemporaryFolder folder;
  TemporaryFolder state_folder;
  TemporaryFolder disk_folder;
  DirectorySource directory{folder.path(), false};
  LyingSource source{directory};
  StateDir state{state_folder.path()};
  ScanProgress progress;
  FakeKernelCache kernel;
  std::unique_ptr<Snapshots> snapshots;
  std::unique_ptr<WorkerPool> notifications;
  std::unique_ptr<Tiers> tiers;
  std::unique_ptr<ReadPath> reads;
  std::unique_ptr<Warm> warm;
};

TEST_F(WarmTest, FillsAFractionInTheOrderOfPathsAndThenTheRest) {
  const WarmProgress half = warm->run({.fraction = 0.5});
  EXPECT_EQ(half.files, 25u);
  EXPECT_EQ(half.fetched_files, 25u);
  tiers->disk()->flush();
  EXPECT_EQ(tiers->shares().disk_files, 25u);
  const WarmProgress rest = warm->run({});
  EXPECT_EQ(rest.done_files, 50u);
  EXPECT_EQ(rest.fetched_files, 25u);
  EXPECT_FALSE(rest.running);
}

TEST_F(WarmTest, TheCheckFindsAndDropsWhatDiffersFromTheSource) {
  warm->run({});
  tiers->disk()->flush();
  EXPECT_EQ(warm->run({.check = true}).wrong_files, 0u);
  source.lies_about = "d/f107";
  EXPECT_EQ(warm->run({.check = true}).wrong_files, 1u);
  EXPECT_EQ(tiers->shares().nowhere_files, 1u);
  EXPECT_EQ(warm->run({.check = true}).wrong_files, 0u);
}

TEST_F(WarmTest, AFailingSourceIsCountedAndTheRestGoesOn) {
  folder.overwrite("d/f110", "changed");
  const WarmProgress progress_made = warm->run({});
  EXPECT_EQ(progress_made.failed_files, 1u);
  EXPECT_EQ(progress_made.done_files, 50u);
}

}  // namespace
}  // namespace winnow
