#include "cache/s3/credential_chain.h"

#include "cache/result.h"
#include "cache/s3/profile_files.h"

namespace winnow::s3 {

namespace {

constexpr std::time_t kRenewBefore = 300;  // seconds
constexpr std::time_t kTryAgainAfter = 10;
constexpr std::time_t kFailureHolds = 1;

bool is_due(const Credentials& credentials, std::time_t now) {
  return credentials.expires_at != 0 && now >= credentials.expires_at - kRenewBefore;
}

bool has_expired(const Credentials& credentials, std::time_t now) {
  return credentials.expires_at != 0 && now >= credentials.expires_at;
}

}  // namespace

std::shared_ptr<const Credentials> CredentialChain::get() {
  std::unique_lock lock(mutex_);
  while (true) {
    const std::time_t now = now_();
    const bool usable = current_ && !has_expired(*current_, now);
    if (usable && (looking_ || !is_due(*current_, now) || now < next_try_)) return current_;
    if (looking_) {
      changed_.wait(lock);
      continue;
    }
    if (!usable && failure_ && now < next_try_) std::rethrow_exception(failure_);
    looking_ = true;
    lock.unlock();
    std::shared_ptr<const Credentials> found;
    std::exception_ptr failure;
    try {
      found = std::make_shared<const Credentials>(find_());
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    looking_ = false;
    failure_ = failure;
    changed_.notify_all();
    if (found) current_ = found;
    // Those that come with little life left are used as they are, and looked for again soon.
    next_try_ = now_() + (found || usable ? kTryAgainAfter : kFailureHolds);
    if (!found && !usable) std::rethrow_exception(failure);
    return current_;
  }
}

bool CredentialChain::replace(const std::shared_ptr<const Credentials>& old) {
  {
    const std::lock_guard lock(mutex_);
    if (current_ == old) current_.reset();
  }
  try {
    return !(*get() == *old);
  } catch (const StartupError&) {  // none for the moment: a file being written, an endpoint that is down
    return true;
  }
}

bool CredentialChain::replace_once(const std::shared_ptr<const Credentials>& old) {
  {
    const std::lock_guard lock(mutex_);
    if (undoubted_ == old) return false;
  }
  const bool replaced = replace(old);
  const std::lock_guard lock(mutex_);
  undoubted_ = current_;
  return replaced;
}

Credentials find_credentials(HttpClient& http, HttpClient& direct, const std::string& profile,
                             const std::string& region) {
  if (!profile.empty()) return *from_profile(http, profile, true, region);
  if (auto found = from_environment()) return *found;
  if (auto found = from_web_identity(http, region)) return *found;
  const std::string named = environment("AWS_PROFILE");
  if (auto found = from_profile(http, named.empty() ? "default" : named, !named.empty(), region)) return *found;
  if (auto found = from_container(direct)) return *found;
  if (auto found = from_instance(direct)) return *found;
  throw StartupError(
      "no S3 credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile with "
      "--s3-profile, or mount a public bucket with --anonymous");
}

}  // namespace winnow::s3
