// A bucket, or what is below a prefix of one, in S3 or a store that speaks its language.
// Objects are files with mode 0444, folders have 0555. An object's version is its ETag and size; every answer
// is compared with it, so bytes of two versions never meet. Whole bodies are checked against their MD5, where
// the ETag is one. The constructor asks nobody; check() does, for whoever mounts.
#pragma once

#include <string>

#include "cache/s3/etag_check.h"
#include "cache/s3/s3_client.h"
#include "cache/source.h"

namespace winnow::s3 {

class S3Source final : public Source {
 public:
  // `options` as resolve() left them. Throws StartupError.
  S3Source(const std::string& url, const S3Options& options);

  // Throws StartupError with a sentence if the bucket cannot be listed, or nothing is below the prefix.
  void check();

  std::string identity() const override;
  Result<Listing> list(ScanProgress& progress) override;
  Result<FileStat> stat(const std::string& path) override;
  Result<Bytes> read(const std::string& path, const Version& version, std::uint64_t offset,
                     std::size_t size) override;

 private:
  Result<FileStat> stat_folder(const std::string& path);
  Result<ObjectFacts> look_at(const std::string& key);
  void note_failed(const std::string& key, const Failure& failure);

  const S3Options options_;
  const S3Location location_;
  const std::string url_;
  S3Client client_;
  EtagCheck etag_check_;
  FailureLog failures_;
};

}  // namespace winnow::s3
