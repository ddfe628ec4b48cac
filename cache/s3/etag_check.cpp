#include "cache/s3/etag_check.h"

#include <spdlog/spdlog.h>

#include "cache/s3/encoding.h"

namespace winnow::s3 {

bool EtagCheck::accepts(const std::string& key, const std::string& etag, std::span<const std::byte> body) {
  {
    const std::lock_guard lock(mutex_);
    if (!ever_matched_ && never_md5_ >= kGiveUpAfter) return true;
  }
  const std::string md5 = md5_hex(body.data(), body.size());
  const std::lock_guard lock(mutex_);
  if (md5 == etag) {
    ever_matched_ = true;
    if (!doubts_.empty()) doubts_.erase(etag);
    return true;
  }
  const auto doubt = doubts_.find(etag);
  const bool again = doubt != doubts_.end() && doubt->second == md5;
  if (again && !ever_matched_) {
    doubts_.erase(doubt);
    if (++never_md5_ == kGiveUpAfter)
      spdlog::warn("the store's ETags are not MD5s of the content: damage on the way cannot be noticed");
    return true;
  }
  if (again) return false;  // said already
  const auto line = damage_.note(key + " came damaged: its MD5 is not its ETag " + etag, FailureLog::Clock::now());
  if (line) spdlog::warn("{}; asking again", *line);
  if (doubts_.size() >= kMaxDoubts) doubts_.clear();
  doubts_[etag] = md5;
  return false;
}

}  // namespace winnow::s3
