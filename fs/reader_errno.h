// The one place where a failed READ becomes what a reader sees. A reader can do something about a file that
// changed, went or may not be read; all else that can go wrong on the way to a source is one thing to it:
// EIO. Programs take EAGAIN or EINVAL from a read for something else.
#pragma once

#include <system_error>

namespace winnow {

int reader_errno(const std::error_code& error);

}  // namespace winnow
