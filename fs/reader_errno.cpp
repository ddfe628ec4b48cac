#include "fs/reader_errno.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace winnow {

int reader_errno(const std::error_code& error) {
  static constexpr std::array kTold = {ESTALE, ENOENT, EACCES, EPERM, EISDIR};
  return std::find(kTold.begin(), kTold.end(), error.value()) == kTold.end() ? EIO : error.value();
}

}  // namespace winnow
