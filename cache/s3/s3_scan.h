// Lists a bucket with several threads: folder by folder until there are enough of them to share out, then
// each with all that is below it, and where there are many, neighbours together. Whoever has a group with
// more to come gives half of it to a thread without work. A page that fails in passing is asked for again
// until the source's time limit; one that breaks S3's promises fails the scan.
#pragma once

#include "cache/result.h"
#include "cache/s3/s3_client.h"
#include "cache/source.h"

namespace winnow::s3 {

struct S3Scan {
  S3Client& client;
  std::string prefix;
  std::string shown;  // the source as errors name it
  std::chrono::milliseconds timeout{0};
  unsigned threads = 16;
};

Result<std::vector<ListedObject>> scan_bucket(const S3Scan& scan, ScanProgress& progress);

// One page, tried again while that may help; ends early when cancelled.
Failure list_patiently(S3Client& client, const S3Client::ListQuery& query, std::chrono::milliseconds timeout,
                       ListPage& page);

}  // namespace winnow::s3
