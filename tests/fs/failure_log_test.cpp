#include "fs/failure_log.h"

#include <gtest/gtest.h>

#include "cache/result.h"

namespace winnow {
namespace {

TEST(FailureLog, SaysTheFirstAtOnceAndThenHowManyThereWere) {
  FailureLog log;
  const FailureLog::Clock::time_point start{};
  EXPECT_EQ(log.note("a/b.jpg", errno_error(EACCES), start), "a read of a/b.jpg failed: Permission denied");
  for (int i = 1; i < 10; ++i) EXPECT_FALSE(log.note("c", errno_error(EIO), start + std::chrono::seconds(i)));
  EXPECT_EQ(log.note("d", errno_error(EIO), start + FailureLog::kPause),
            "a read of d failed: Input/output error (and 9 others since the last such line)");
  EXPECT_EQ(log.note("e", errno_error(EIO), start + 2 * FailureLog::kPause), "a read of e failed: Input/output error");
}

}  // namespace
}  // namespace winnow
