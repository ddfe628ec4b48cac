// Lists of the mount's files that a user hands over: an order to read in (one path a line), or scores (path,score).
// Paths are relative to the mount's root, or absolute below the mountpoint. What does not fit is refused as a whole,
// with a sentence that names the line. Throws StartupError.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fs/tree.h"

namespace winnow {

std::vector<SampleId> read_order(const std::string& path, const Tree& tree, const std::string& mountpoint);

// With the importance each score means for the cache; files without one count as important.
std::vector<std::pair<SampleId, double>> read_scores(const std::string& path, const Tree& tree,
                                                     const std::string& mountpoint);

}  // namespace winnow
