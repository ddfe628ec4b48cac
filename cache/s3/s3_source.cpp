#include "cache/s3/s3_source.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>

#include "cache/back_off.h"
#include "cache/s3/key_tree.h"
#include "cache/s3/refusal.h"
#include "cache/s3/s3_scan.h"

namespace winnow::s3 {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kStatPatience{5'000};

bool has_content_of(const ObjectFacts& facts, const Version& version) {
  return facts.size == version.size && version_of(facts.etag, facts.size, 0).tag == version.tag;
}

}  // namespace

S3Source::S3Source(const std::string& url, const S3Options& options)
    : options_(options), location_(parse_s3_url(url)), url_(url), client_(options, location_) {}

std::string S3Source::identity() const {
  return "s3:" + (options_.endpoint.empty() ? "" : options_.endpoint + "/") + location_.bucket + "/" +
         location_.prefix;
}

void S3Source::check() {
  ListPage page;
  const S3Client::ListQuery query{.prefix = location_.prefix, .max_keys = 1};
  Failure failure = client_.list(query, page);
  if (is_worth_waiting_for(failure)) failure = list_patiently(client_, query, options_.source_timeout, page);
  if (failure.code != 0) throw StartupError(refusal(failure, options_, location_, client_.where()));
  if (location_.prefix.empty() || !page.objects.empty()) return;
  const std::string key = location_.prefix.substr(0, location_.prefix.size() - 1);
  ObjectFacts facts;
  if (client_.head(key, facts).code == 0)
    throw StartupError("source " + url_ + " is an object, not a folder; mount what it is in");
  throw StartupError("source " + url_ + " has no objects below it; check the prefix");
}

Result<Listing> S3Source::list(ScanProgress& progress) {
  BOOST_OUTCOME_TRY(
      objects,
      scan_bucket(
          {.client = client_, .prefix = location_.prefix, .shown = url_, .timeout = options_.source_timeout},
          progress));
  Listing listing = make_tree(std::move(objects), location_.prefix);
  progress.entries = listing.entries.size() - 1;
  return listing;
}

// Looks again for a while if the store stumbles: whoever asks has no patience of its own.
Result<ObjectFacts> S3Source::look_at(const std::string& key) {
  const auto patience =
      options_.source_timeout.count() > 0 ? std::min(kStatPatience, options_.source_timeout) : kStatPatience;
  const auto give_up = Clock::now() + patience;
  BackOff back_off;
  while (true) {
    ObjectFacts facts;
    const Failure failure = client_.head(key, facts);
    if (failure.code == 0) return facts;
    const auto pause = back_off.next();
    if (!is_passing(errno_error(failure.code)) || Clock::now() + pause >= give_up)
      return errno_error(failure.code);
    std::this_thread::sleep_for(pause);
  }
}

Result<FileStat> S3Source::stat(const std::string& path) {
  if (path.empty()) return stat_folder(path);
  const auto facts = look_at(location_.prefix + path);
  if (facts) return file_stat(version_of(facts.value().etag, facts.value().size, facts.value().modified));
  if (facts.error() != errno_error(ENOENT)) return facts.error();
  return stat_folder(path);
}

Result<FileStat> S3Source::stat_folder(const std::string& path) {
  ListPage page;
  const std::string prefix = location_.prefix + (path.empty() ? "" : path + "/");
  const Failure failure = list_patiently(client_, {.prefix = prefix, .max_keys = 1}, kStatPatience, page);
  if (failure.code != 0) return errno_error(failure.code);
  if (page.objects.empty() && !path.empty()) return errno_error(ENOENT);
  return folder_stat(page.objects.empty() ? 0 : page.objects[0].modified);
}

// Why, which an errno does not tell; of objects that changed or went, whoever reads says so.
void S3Source::note_failed(const std::string& key, const Failure& failure) {
  if (failure.code == ENOENT || failure.code == ESTALE) return;
  const auto line = failures_.note("the store did not give " + key + ": " + failure.text, FailureLog::Clock::now());
  if (line) spdlog::warn("{}", *line);
}

Result<Bytes> S3Source::read(const std::string& path, const Version& version, std::uint64_t offset,
                             std::size_t size) {
  const std::string key = location_.prefix + path;
  const std::uint64_t expected =
      offset < version.size ? std::min<std::uint64_t>(size, version.size - offset) : 0;
  if (expected == 0) {
    BOOST_OUTCOME_TRY(facts, look_at(key));
    if (!has_content_of(facts, version)) return errno_error(ESTALE);
    return Bytes();
  }
  auto buffer = std::make_shared_for_overwrite<std::byte[]>(expected);
  const std::span<std::byte> into(buffer.get(), expected);
  const bool whole = expected == version.size;
  ObjectFacts facts;
  const Failure failure = client_.get(key, offset, whole, into, facts);
  if (failure.code != 0) {
    note_failed(key, failure);
    return errno_error(failure.code);
  }
  if (!has_content_of(facts, version)) return errno_error(ESTALE);
  if (whole && facts.etag_is_md5 && !etag_check_.accepts(key, facts.etag, into)) return errno_error(EIO);
  return Bytes(std::move(buffer), expected);
}

}  // namespace winnow::s3
