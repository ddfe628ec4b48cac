#include "fs/make_source.h"

#include "cache/directory_source.h"
#include "cache/s3/s3_source.h"

namespace winnow {

namespace {

std::unique_ptr<s3::S3Source> make_s3_source(const MountOptions& options) {
  s3::S3Options s3_options = options.s3;
  s3_options.source_timeout = options.source_timeout;
  return std::make_unique<s3::S3Source>(options.source, s3_options);
}

}  // namespace

std::unique_ptr<Source> make_source(const MountOptions& options) {
  if (s3::is_s3_url(options.source)) return make_s3_source(options);
  return DirectorySource::known(options.source, options.follow_symlinks);
}

std::unique_ptr<Source> make_reachable_source(const MountOptions& options) {
  if (!s3::is_s3_url(options.source))
    return std::make_unique<DirectorySource>(options.source, options.follow_symlinks);
  auto source = make_s3_source(options);
  source->check();
  return source;
}

}  // namespace winnow
