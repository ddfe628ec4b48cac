#include "cache/page_counts.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache/file_descriptor.h"

namespace winnow {
namespace {

constexpr SampleId A{1}, B{70'000}, C{5'000'000};

TEST(PageCounts, AreZeroAtFirst) {
  const PageCounts counts;
  EXPECT_EQ(counts.get(A), 0u);
  EXPECT_EQ(counts.get(SampleId{UINT64_MAX}), 0u);
  EXPECT_EQ(counts.next_set(SampleId{0}), std::nullopt);
}

TEST(PageCounts, KeepWhatWasSet) {
  PageCounts counts;
  counts.set(B, 3);
  counts.set(B, 7);
  EXPECT_EQ(counts.get(B), 7u);
  EXPECT_EQ(counts.get(A), 0u);
  counts.set(B, 0);
  EXPECT_EQ(counts.get(B), 0u);
}

TEST(PageCounts, AreWalkedInOrder) {
  PageCounts counts;
  counts.set(C, 1);
  counts.set(A, 2);
  counts.set(B, 3);
  EXPECT_EQ(counts.next_set(SampleId{0}), A);
  EXPECT_EQ(counts.next_set(SampleId{2}), B);
  EXPECT_EQ(counts.next_set(B), B);
  EXPECT_EQ(counts.next_set(SampleId{70'001}), C);
  EXPECT_EQ(counts.next_set(SampleId{5'000'001}), std::nullopt);
}

TEST(PageCounts, LeaveOutIdsTheyHaveNoRoomFor) {
  PageCounts counts;
  counts.set(SampleId{0}, 5);
  counts.set(SampleId{PageCounts::kMaxIds}, 5);
  EXPECT_EQ(counts.get(SampleId{0}), 0u);
  EXPECT_EQ(counts.get(SampleId{PageCounts::kMaxIds}), 0u);
  EXPECT_EQ(counts.next_set(SampleId{0}), std::nullopt);
}

TEST(PageCounts, OutliveTheirOwnerInSharedMemory) {
  constexpr std::uint64_t kOffset = 1 << 20;
  const FileDescriptor memory(memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(memory.get(), static_cast<off_t>(kOffset + PageCounts::kBytes)), 0);
  PageCounts(memory.get(), kOffset).set(B, 9);
  const PageCounts later(memory.get(), kOffset);
  EXPECT_EQ(later.get(B), 9u);
  EXPECT_EQ(later.next_set(A), B);
}

}  // namespace
}  // namespace winnow
