// Random operations against a model that is a map: the tier may have forgotten (it is a cache), but what it
// says it has is right, its counts add up, and the budget holds.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "tests/cache/disk/disk_fixture.h"

namespace winnow {
namespace {

constexpr std::uint64_t kBudget = 6 << 20;

class Model {
 public:
  explicit Model(unsigned seed, const std::string& policy) : random_(seed), policy_(policy) {
    for (std::uint64_t id = 1; id <= 120; ++id) files_.push_back(file_ref(id, size()));
    restart();
  }

  void step() {
    FileRef& file = files_[random_() % files_.size()];
    switch (random_() % 40) {
      case 0:
        return restart();
      case 1:
        return adopt_all(*tier_, files_);
      case 2:
        return change(file);
      case 3:
        tier_->remove(file);
        EXPECT_FALSE(tier_->contains(file));
        return;
      case 4:
        return tier_->set_importance(file.id, static_cast<double>(random_() % 100) / 100);
      case 5:
        return tier_->begin_epoch();
      case 6:
        tier_->flush();
        return;
      default:
        return random_() % 2 == 0 ? read(file) : tier_->write(file, 0, content_of(file));
    }
  }

  void check() {
    tier_->flush();
    adopt_all(*tier_, files_);
    tier_->flush();
    std::uint64_t bytes = 0;
    for (const FileRef& file : files_) bytes += tier_->stored_bytes(file.id);
    EXPECT_EQ(tier_->counts().bytes_stored, bytes);
    EXPECT_EQ(tier_->counts().torn, 0u);
    EXPECT_EQ(tier_->counts().bad_records, 0u);
    EXPECT_LE(blocks_of(folder_.path()), kBudget);
  }

 private:
  std::uint64_t size() { return random_() % 12 == 0 ? random_() % 2'500'000 : random_() % 150'000; }

  void restart() {
    if (tier_ && random_() % 2 == 0) tier_->flush();
    tier_.reset();
    tier_ = std::make_unique<DiskTier>(disk_options(folder_.path(), kBudget, policy_));
    adopt_all(*tier_, files_);
  }

  // Its old version is never served for the new one.
  void change(FileRef& file) {
    file = file_ref(value(file.id), size(), ++second_);
    EXPECT_TRUE(file.version.size == 0 || !tier_->read(file));
  }

  void read(const FileRef& file) {
    const std::uint64_t offset = random_() % (file.version.size + 1), length = random_() % 1'500'000;
    const auto bytes = tier_->read(file, offset, length);
    if (!bytes) return;
    ASSERT_EQ(text_of(*bytes), text_of(content_of(file).part(offset, length)));
    tier_->touch(file.id);
  }

  std::mt19937 random_;
  const std::string policy_;
  const TemporaryFolder folder_;
  std::vector<FileRef> files_;
  std::int64_t second_ = 1;
  std::unique_ptr<DiskTier> tier_;
};

class DiskModel : public testing::TestWithParam<const char*> {};

TEST_P(DiskModel, RandomOperationsEndAsTheModelSays) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    Model model(seed, GetParam());
    for (int i = 0; i < 700; ++i) model.step();
    model.check();
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, DiskModel, testing::Values("lru", "importance"),
                         [](const auto& policy) { return policy.param; });

TEST(DiskConcurrency, ReadersWritersAndARefreshShareATier) {
  const TemporaryFolder folder;
  DiskTier tier(disk_options(folder.path(), kBudget));
  std::vector<FileRef> files;
  for (std::uint64_t id = 1; id <= 150; ++id) files.push_back(file_ref(id, 1'000 + id * 700));
  std::atomic<std::uint64_t> served{0}, wrong{0};
  const auto use = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 400; ++i) {
      const FileRef& file = files[random() % files.size()];
      if (const auto bytes = tier.read(file)) {
        ++served;
        if (text_of(*bytes) != text_of(content_of(file))) ++wrong;
        tier.touch(file.id);
      } else {
        tier.write(file, 0, content_of(file));
      }
      if (random() % 30 == 0) tier.remove(file);
      if (random() % 50 == 0) (void)tier.counts();
      if (random() % 100 == 0) tier.begin_epoch();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(use, seed);
  for (int i = 0; i < 20; ++i) adopt_all(tier, files);
  for (std::thread& thread : threads) thread.join();
  tier.flush();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(served, 100u);
  EXPECT_LE(blocks_of(folder.path()), kBudget);
}

}  // namespace
}  // namespace winnow
