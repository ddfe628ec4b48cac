#include "cache/failure_log.h"

#include <gtest/gtest.h>

namespace winnow {
namespace {

TEST(FailureLog, SaysTheFirstAtOnceAndThenHowManyThereWere) {
  FailureLog log;
  const FailureLog::Clock::time_point start{};
  EXPECT_EQ(log.note("a failed", start), "a failed");
  for (int i = 1; i < 10; ++i) EXPECT_FALSE(log.note("c failed", start + std::chrono::seconds(i)));
  EXPECT_EQ(log.note("d failed", start + FailureLog::kPause), "d failed (and 9 others since the last such line)");
  EXPECT_EQ(log.note("e failed", start + 2 * FailureLog::kPause), "e failed");
}

}  // namespace
}  // namespace winnow
