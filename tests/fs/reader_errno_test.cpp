#include "fs/reader_errno.h"

#include <gtest/gtest.h>

#include "cache/result.h"

namespace winnow {
namespace {

TEST(ReaderErrno, TellsWhatAReaderCanDoSomethingAbout) {
  for (const int code : {ESTALE, ENOENT, EACCES, EPERM, EISDIR})
    EXPECT_EQ(reader_errno(errno_error(code)), code);
}

TEST(ReaderErrno, IsEioForAllElse) {
  for (const int code : {EIO, EAGAIN, EINTR, ETIMEDOUT, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, EPROTO,
                         EINVAL, ENOMEM, ENOSYS, ECANCELED, 0})
    EXPECT_EQ(reader_errno(errno_error(code)), EIO) << code;
}

}  // namespace
}  // namespace winnow
