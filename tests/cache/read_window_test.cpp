#include "cache/read_window.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/cache/answer.h"

namespace winnow {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr SampleId kFile{7};

TEST(ReadWindow, AFirstReadFetchesWhatWasAsked) {
  ReadWindow window(8 * kMiB);
  const Range range = window.next(kFile, {64 * kKiB, 128 * kKiB}, 100 * kMiB);
  EXPECT_EQ(range.offset, 64 * kKiB);
  EXPECT_EQ(range.size, 128 * kKiB);
}

TEST(ReadWindow, IsAlignedToPages) {
  ReadWindow window(8 * kMiB);
  const Range range = window.next(kFile, {5000, 10}, 100 * kMiB);
  EXPECT_EQ(range.offset, 4096u);
  EXPECT_EQ(range.end(), 8192u);
}

TEST(ReadWindow, DoublesForWhoeverReadsOn) {
  ReadWindow window(8 * kMiB);
  Range range = window.next(kFile, {0, 128 * kKiB}, 100 * kMiB);
  std::uint64_t size = range.size;
  for (int i = 0; i < 3; ++i) {
    range = window.next(kFile, {range.end(), 128 * kKiB}, 100 * kMiB);
    size *= 2;
    EXPECT_EQ(range.size, size);
  }
}

TEST(ReadWindow, GrowsNoFurtherThanItsMaximum) {
  ReadWindow window(kMiB);
  Range range = window.next(kFile, {0, 512 * kKiB}, 100 * kMiB);
  for (int i = 0; i < 5; ++i) range = window.next(kFile, {range.end(), 4096}, 100 * kMiB);
  EXPECT_EQ(range.size, kMiB);
}

TEST(ReadWindow, AJumpStartsSmallAgain) {
  ReadWindow window(8 * kMiB);
  Range range = window.next(kFile, {0, 128 * kKiB}, 100 * kMiB);
  range = window.next(kFile, {range.end(), 128 * kKiB}, 100 * kMiB);
  range = window.next(kFile, {50 * kMiB, 4096}, 100 * kMiB);
  EXPECT_EQ(range.offset, 50 * kMiB);
  EXPECT_EQ(range.size, 4096u);
}

TEST(ReadWindow, EndsWithTheFile) {
  ReadWindow window(8 * kMiB);
  const std::uint64_t size = 10 * kMiB + 123;
  const Range range = window.next(kFile, {10 * kMiB, 123}, size);
  EXPECT_EQ(range.end(), size);
}

TEST(ReadWindow, BeginsAndEndsWithPieces) {
  ReadWindow window(8 * kMiB, kMiB);
  const std::uint64_t size = 30 * kMiB + 123;
  Range range = window.next(kFile, {5 * kMiB + 4096, 4096}, size);
  EXPECT_EQ(range, (Range{5 * kMiB, kMiB}));
  range = window.next(kFile, {6 * kMiB - 4096, 8192}, size);
  EXPECT_EQ(range, (Range{5 * kMiB, 2 * kMiB})) << "reads on, across a border";
  for (int i = 0; i < 3; ++i) range = window.next(kFile, {range.end(), 4096}, size);
  EXPECT_EQ(range, (Range{19 * kMiB, 8 * kMiB})) << "4 MiB, 8 MiB, and no more";
  range = window.next(kFile, {30 * kMiB, 123}, size);
  EXPECT_EQ(range.end(), size);
  EXPECT_EQ(range.offset % kMiB, 0u);
}

TEST(ReadWindow, FilesDoNotDisturbEachOther) {
  ReadWindow window(8 * kMiB);
  const Range first = window.next(SampleId{1}, {0, 128 * kKiB}, 100 * kMiB);
  window.next(SampleId{2}, {70 * kMiB, 4096}, 100 * kMiB);
  EXPECT_EQ(window.next(SampleId{1}, {first.end(), 4096}, 100 * kMiB).size, 256 * kKiB);
}

TEST(ReadWindow, AlwaysCoversWhatWasAskedWithinTheFile) {
  ReadWindow window(kMiB);
  std::mt19937_64 random(3);
  Range last;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t file_size = (random() % (1ull << (random() % 42))) + 1;
    const bool reads_on = random() % 2 == 0 && last.end() < file_size;
    const std::uint64_t offset = reads_on ? last.end() : random() % file_size;
    const Range asked{offset, std::min<std::uint64_t>(random() % (2 * kMiB) + 1, file_size - offset)};
    last = window.next(SampleId{random() % 1500}, asked, file_size);
    ASSERT_TRUE(last.covers(asked)) << asked.offset << "+" << asked.size << " of " << file_size;
    ASSERT_LE(last.end(), file_size);
    ASSERT_EQ(last.offset % 4096, 0u);
    ASSERT_LE(last.size, std::max(kMiB, asked.size) + 2 * 4096);
  }
}

}  // namespace
}  // namespace winnow
