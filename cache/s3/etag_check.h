// Tells whether a whole body is what its ETag says, where the ETag is the MD5 of the content. Stores differ
// in whether it is. Once one matched, it is here, and what does not match is damaged, however often it comes.
// Until then, the same bytes coming a second time are taken for what the store has; after several of those
// the check is given up. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>

#include "cache/failure_log.h"

namespace winnow::s3 {

class EtagCheck {
 public:
  // False: damaged, as far as is known; ask again.
  bool accepts(const std::string& key, const std::string& etag, std::span<const std::byte> body);

 private:
  static constexpr int kGiveUpAfter = 8;
  static constexpr std::size_t kMaxDoubts = 1024;

  std::mutex mutex_;                           // guards all below; not held while hashing
  std::map<std::string, std::string> doubts_;  // ETag to the MD5 that came for it
  bool ever_matched_ = false;
  int never_md5_ = 0;
  FailureLog damage_;
};

}  // namespace winnow::s3
