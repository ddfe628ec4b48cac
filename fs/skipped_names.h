// The names a snapshot does not show, in a text file beside it: a count for each reason, then the names
// themselves, as many as the listing kept. Written with the snapshot; a mount without the file has skipped
// nothing that is known.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cache/listing.h"

namespace winnow {

struct SkippedNames {
  LeftOut counts;
  std::vector<std::pair<std::string, std::string>> names;  // reason, name with odd bytes as %XX
};

void save_skipped(const std::string& path, const Listing& listing);  // throws StartupError
SkippedNames load_skipped(const std::string& path, bool with_names);

}  // namespace winnow
