#include "cache/bytes.h"

#include <gtest/gtest.h>

#include "tests/cache/answer.h"

namespace winnow {
namespace {

TEST(Bytes, AreEmptyByDefault) {
  EXPECT_EQ(Bytes().size(), 0u);
  EXPECT_TRUE(Bytes().span().empty());
  EXPECT_EQ(Bytes().part(0, 10).size(), 0u);
}

TEST(Bytes, APartIsTheBytesAsked) {
  const Bytes bytes = to_bytes("0123456789");
  EXPECT_EQ(to_text(bytes.part(0, 10)), "0123456789");
  EXPECT_EQ(to_text(bytes.part(3, 4)), "3456");
  EXPECT_EQ(to_text(bytes.part(9, 1)), "9");
}

TEST(Bytes, APartIsCutOffAtTheEnd) {
  const Bytes bytes = to_bytes("0123456789");
  EXPECT_EQ(to_text(bytes.part(8, 100)), "89");
  EXPECT_EQ(to_text(bytes.part(8, SIZE_MAX)), "89");
  EXPECT_EQ(bytes.part(10, 1).size(), 0u);
  EXPECT_EQ(bytes.part(UINT64_MAX, 1).size(), 0u);
}

TEST(Bytes, APartOfAPartCountsFromThePart) {
  EXPECT_EQ(to_text(to_bytes("0123456789").part(2, 6).part(1, 3)), "345");
}

TEST(Bytes, TheLastReaderFreesThem) {
  auto data = std::make_shared_for_overwrite<std::byte[]>(4);
  const std::weak_ptr<std::byte[]> watched = data;
  auto whole = std::make_unique<Bytes>(std::move(data), 4);
  auto part = std::make_unique<Bytes>(whole->part(1, 2));
  whole.reset();
  EXPECT_FALSE(watched.expired());
  part.reset();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace winnow
