#include "cache/back_off.h"

#include <gtest/gtest.h>

#include <set>

#include "cache/result.h"

namespace winnow {
namespace {

using namespace std::chrono_literals;

TEST(BackOff, PausesGrowFromATenthOfASecondToFive) {
  BackOff back_off;
  auto most = 100ms;
  for (int i = 0; i < 12; ++i) {
    const auto pause = back_off.next();
    EXPECT_LE(pause, most);
    EXPECT_GE(pause, most / 2);
    most = std::min<std::chrono::milliseconds>(most * 2, 5s);
  }
}

TEST(BackOff, ThoseWhoFailTogetherDoNotComeBackTogether) {
  std::set<long> pauses;
  for (int i = 0; i < 100; ++i) {
    BackOff back_off;
    for (int j = 0; j < 5; ++j) back_off.next();
    pauses.insert(back_off.next().count());
  }
  EXPECT_GT(pauses.size(), 50u);
}

TEST(IsPassing, TellsAStumbleFromARefusal) {
  for (const int code : {EIO, EAGAIN, ETIMEDOUT, ECONNRESET, ECONNREFUSED})
    EXPECT_TRUE(is_passing(errno_error(code)));
  for (const int code : {ESTALE, ENOENT, EACCES, EINVAL, EPROTO}) EXPECT_FALSE(is_passing(errno_error(code)));
}

}  // namespace
}  // namespace winnow
