// The places credentials come from, each one function: nullopt if the place is not set up on this machine, a
// StartupError with a sentence if it is and does not give any. All may block on a file or a request.
#pragma once

#include <optional>
#include <string>

#include "cache/s3/http_client.h"
#include "cache/s3/signature.h"

namespace winnow::s3 {

std::optional<Credentials> from_environment();
// `named`: somebody asked for this profile, so it must be there and tell credentials.
std::optional<Credentials> from_profile(HttpClient& http, const std::string& profile, bool named,
                                        const std::string& region);
// AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, at STS of the region or AWS_ENDPOINT_URL_STS.
std::optional<Credentials> from_web_identity(HttpClient& http, const std::string& region);
// AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI (at 169.254.170.2, or
// WINNOW_CONTAINER_CREDENTIALS_HOST), with AWS_CONTAINER_AUTHORIZATION_TOKEN or _TOKEN_FILE.
std::optional<Credentials> from_container(HttpClient& direct);
// The instance metadata service, version 2, at 169.254.169.254 or AWS_EC2_METADATA_SERVICE_ENDPOINT.
std::optional<Credentials> from_instance(HttpClient& direct);

}  // namespace winnow::s3
