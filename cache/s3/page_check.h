// Whether the pages of one listing keep to what ListObjectsV2 promises: names below the prefix and behind
// start-after, in the order of their bytes, and pages that come to an end. Whoever believed a store that does
// not would show half a bucket. Not thread-safe.
#pragma once

#include <set>
#include <string>

#include "cache/s3/list_page.h"

namespace winnow::s3 {

class PageCheck {
 public:
  PageCheck(std::string prefix, const std::string& start_after)
      : prefix_(std::move(prefix)), last_key_(start_after), last_folder_(start_after) {}

  // Empty if the next page is in order; names that came twice are then taken out. Else what is wrong, in
  // words.
  std::string take(ListPage& page);

 private:
  const std::string prefix_;
  std::string last_key_;
  std::string last_folder_;
  std::set<std::string> tokens_;  // since the last page that brought something
};

}  // namespace winnow::s3
