#include "fs/skipped_names.h"

#include <gtest/gtest.h>

#include "tests/cache/temporary_folder.h"

namespace winnow {
namespace {

TEST(SkippedNames, ComeBackWithTheirReasonsAndCounts) {
  TemporaryFolder folder;
  Listing listing;
  listing.skip(kShadowed, "a");
  listing.skip(kDotNames, "x/../y");
  listing.skip(kDotNames, "new\nline and %");
  save_skipped(folder / "skipped", listing);
  const SkippedNames found = load_skipped(folder / "skipped", true);
  EXPECT_EQ(found.counts, listing.left_out);
  EXPECT_EQ(found.names,
            (std::vector<std::pair<std::string, std::string>>{
                {"shadowed", "a"}, {"dot_names", "x/../y"}, {"dot_names", "new%0Aline%20and%20%25"}}));
}

TEST(SkippedNames, CountsComeWithoutReadingTheNames) {
  TemporaryFolder folder;
  Listing listing;
  listing.skip(kLinks, "a");
  save_skipped(folder / "skipped", listing);
  const SkippedNames found = load_skipped(folder / "skipped", false);
  EXPECT_EQ(found.counts, LeftOut{.links = 1});
  EXPECT_TRUE(found.names.empty());
}

TEST(SkippedNames, AMissingFileIsNothing) {
  TemporaryFolder folder;
  EXPECT_EQ(load_skipped(folder / "none", true).counts, LeftOut{});
}

}  // namespace
}  // namespace winnow
