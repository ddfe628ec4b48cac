// The credentials in force: found in the first place that has any, kept, and renewed before they expire. get()
// blocks while they are first found or have expired; while they merely come near their end, one caller renews
// them and the others go on. A failure holds for a second, for all who ask meanwhile. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "cache/s3/credential_sources.h"

namespace winnow::s3 {

class CredentialChain {
 public:
  using Find = std::function<Credentials()>;  // throws StartupError
  using Now = std::function<std::time_t()>;

  explicit CredentialChain(
      Find find, Now now = [] { return std::time(nullptr); })
      : find_(std::move(find)), now_(std::move(now)) {}

  // Throws StartupError if there are none.
  std::shared_ptr<const Credentials> get();
  // The store refused these: looks for others. True if another try may help.
  bool replace(const std::shared_ptr<const Credentials>& old);
  // The same where the store did not say why, and may mean the request: what was found for such an answer is
  // not looked for again when it gets the same.
  bool replace_once(const std::shared_ptr<const Credentials>& old);

 private:
  const Find find_;
  const Now now_;
  std::mutex mutex_;  // guards all below; not held while looking
  std::condition_variable changed_;
  std::shared_ptr<const Credentials> current_;
  bool looking_ = false;
  std::time_t next_try_ = 0;  // after a renewal that failed
  std::exception_ptr failure_;                  // of the last look, if it failed
  std::shared_ptr<const Credentials> undoubted_;  // what replace_once() found last
};

// The order: a profile given alone; else environment, web identity, AWS_PROFILE or the default profile, container,
// instance.
Credentials find_credentials(HttpClient& http, HttpClient& direct, const std::string& profile,
                             const std::string& region);

}  // namespace winnow::s3
