// Makes a tree of files and folders out of a bucket's flat keys. Each key has a defined outcome: a file, a
// folder (a key that ends with '/', and whatever comes before a '/'), or left out with a reason, because no
// file could carry its name and still be found again under the key it stands for. Nothing is renamed.
#pragma once

#include <string>
#include <vector>

#include "cache/listing.h"
#include "cache/s3/list_page.h"

namespace winnow::s3 {

// The version of an object's content: its ETag and size; the time is the store's, in whole seconds.
Version version_of(const std::string& etag, std::uint64_t size, std::int64_t modified);
FileStat file_stat(const Version& version);
FileStat folder_stat(std::int64_t modified);

// `objects` below `prefix` (empty, or ending with '/'), in any order.
Listing make_tree(std::vector<ListedObject> objects, const std::string& prefix);

}  // namespace winnow::s3
