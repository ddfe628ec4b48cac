#include "cache/s3/refusal.h"

#include "cache/back_off.h"
#include "cache/result.h"

namespace winnow::s3 {

namespace {

std::string unreachable(const Failure& failure, const std::string& where) {
  if (failure.code == EPROTO)
    return "the certificate of " + where + " is not trusted (" + failure.text +
           "); give the authority's with --ca-file, or another --s3-endpoint";
  return where + " cannot be reached: " + failure.text + "; check --s3-endpoint and the network";
}

}  // namespace

bool is_worth_waiting_for(const Failure& failure) {
  if (failure.code == 0 || failure.s3_code == "NoCredentials") return false;
  if (failure.code == ECONNREFUSED || failure.code == EHOSTUNREACH) return false;
  if (failure.status == 400 || failure.status == 403) return false;
  return is_passing(errno_error(failure.code));
}

std::string refusal(const Failure& failure, const S3Options& options, const S3Location& location,
                    const std::string& where) {
  const std::string& code = failure.s3_code;
  const std::string bucket = "bucket " + location.bucket;
  if (code == "NoCredentials") return failure.text;
  if (failure.status == 0) return unreachable(failure, where);
  if (!failure.region.empty() && failure.region != options.region)
    return bucket + " is in the region " + failure.region + ", not " + options.region +
           "; mount with --s3-region " + failure.region;
  if (failure.status == 301 || failure.status == 307 || code == "PermanentRedirect")
    return bucket + " is not at " + where + " (" + failure.text + "); give its --s3-region or --s3-endpoint";
  if (code == "NoSuchBucket" || failure.status == 404)
    return bucket + " does not exist at " + where + "; check the name, --s3-endpoint and --s3-addressing";
  if (code == "InvalidAccessKeyId")
    return where + " does not know the access key; check the credentials and --s3-endpoint";
  if (code == "SignatureDoesNotMatch")
    return where + " does not accept the signature; check the secret key and --s3-region";
  if (code == "ExpiredToken" || code == "InvalidToken")
    return where + " does not accept the session token (" + code + "); renew the credentials";
  if (code == "RequestTimeTooSkewed")
    return "this machine's clock is more than 15 minutes off that of " + where + "; set the clock";
  if (failure.code == EACCES)
    return where + " refuses to list " + bucket + " (" + failure.text + "); " +
           (options.anonymous ? "it is not public, mount it without --anonymous"
                              : "the credentials need s3:ListBucket and s3:GetObject on it");
  if (failure.code == EAGAIN)
    return where + " is overloaded or failing (" + failure.text +
           "); try again later, or with a longer --source-timeout";
  return where + " gives no listing of " + bucket + " (" + failure.text +
         "); check --s3-endpoint: is it an S3 store?";
}

}  // namespace winnow::s3
