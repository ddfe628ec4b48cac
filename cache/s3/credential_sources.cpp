#include "cache/s3/credential_sources.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cache/s3/encoding.h"
#include "cache/s3/profile_files.h"
#include "cache/s3/s3_options.h"
#include "cache/s3/xml.h"

namespace winnow::s3 {

namespace {

using namespace std::chrono_literals;
constexpr auto kMetadataTimeout = 2s;  // of one question; on machines without the service nobody answers
constexpr auto kStsTimeout = 10s;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// An address from the environment. It is shown in errors.
std::string address(const char* name) {
  std::string given = environment(name);
  refuse_user_part(name, given);
  return given;
}

[[noreturn]] void fail(const std::string& where, const HttpClient::Outcome& outcome,
                       const std::string& advice) {
  const std::string what =
      outcome ? "answered " + std::to_string(outcome.response.status) : outcome.error.text;
  throw StartupError(where + " gave no credentials: " + what + "; " + advice);
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The JSON that the container and the instance endpoints share.
Credentials parse_metadata(const std::string& where, const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  Credentials found;
  if (json.is_object()) {
    found.access_key = text_of(json, "AccessKeyId");
    found.secret_key = text_of(json, "SecretAccessKey");
    found.session_token = text_of(json, "Token");
    found.expires_at = parse_iso_time(text_of(json, "Expiration")).value_or(0);
  }
  if (found.access_key.empty() || found.secret_key.empty())
    throw StartupError(where + " answered without credentials; check the role that is attached there");
  return found;
}

struct WebIdentity {
  std::string token_file;
  std::string role;
  std::string session;
};

Credentials assume_role(HttpClient& http, const WebIdentity& identity, const std::string& region) {
  const std::string token = first_line(identity.token_file);
  if (token.empty())
    throw StartupError("the web identity token file " + identity.token_file +
                       " cannot be read or is empty; check AWS_WEB_IDENTITY_TOKEN_FILE");
  const std::string given = address("AWS_ENDPOINT_URL_STS");
  const std::string endpoint = given.empty() ? "https://sts." + region + aws_domain(region) : given;
  HttpRequest request;
  request.method = "POST";
  request.url = endpoint + "/";
  request.headers = {{"content-type", "application/x-www-form-urlencoded"}, {"accept", "application/xml"}};
  request.body =
      canonical_query({{"Action", "AssumeRoleWithWebIdentity"},
                       {"Version", "2011-06-15"},
                       {"RoleArn", identity.role},
                       {"RoleSessionName",
                        identity.session.empty() ? "winnow-" + std::to_string(getpid()) : identity.session},
                       {"WebIdentityToken", token}});
  request.timeout = kStsTimeout;
  const auto outcome = http.perform(request);
  if (!outcome || outcome.response.status != 200)
    fail("STS at " + endpoint, outcome, "check AWS_ROLE_ARN and the token in " + identity.token_file);
  Credentials found;
  const bool parsed = walk_xml(outcome.response.body, [&](std::string_view path, const std::string& text) {
    if (path.ends_with("/Credentials/AccessKeyId")) found.access_key = text;
    if (path.ends_with("/Credentials/SecretAccessKey")) found.secret_key = text;
    if (path.ends_with("/Credentials/SessionToken")) found.session_token = text;
    if (path.ends_with("/Credentials/Expiration")) found.expires_at = parse_iso_time(text).value_or(0);
    return true;
  });
  if (!parsed || found.access_key.empty() || found.secret_key.empty())
    throw StartupError("STS at " + endpoint + " answered without credentials; check AWS_ENDPOINT_URL_STS");
  return found;
}

}  // namespace

std::optional<Credentials> from_environment() {
  Credentials found{.access_key = environment("AWS_ACCESS_KEY_ID"),
                    .secret_key = environment("AWS_SECRET_ACCESS_KEY"),
                    .session_token = environment("AWS_SESSION_TOKEN")};
  if (found.access_key.empty() && found.secret_key.empty()) return std::nullopt;
  if (found.access_key.empty() || found.secret_key.empty())
    throw StartupError("only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both or neither");
  return found;
}

std::optional<Credentials> from_profile(HttpClient& http, const std::string& name, bool named,
                                        const std::string& region) {
  Profile profile = load_profile(name, named);
  Credentials found{.access_key = profile["aws_access_key_id"],
                    .secret_key = profile["aws_secret_access_key"],
                    .session_token = profile["aws_session_token"]};
  if (!found.access_key.empty() && !found.secret_key.empty()) return found;
  const std::string& token_file = profile["web_identity_token_file"];
  if (!token_file.empty() && !profile["role_arn"].empty()) {
    if (token_file[0] != '/')  // it would be looked for elsewhere once the mount is in the background
      throw StartupError("the profile '" + name + "' names its web_identity_token_file as " + token_file +
                         "; write the whole path");
    return assume_role(http, {token_file, profile["role_arn"], profile["role_session_name"]}, region);
  }
  for (const char* other : {"credential_process", "sso_session", "sso_start_url", "source_profile", "credential_source"}) {
    if (!profile[other].empty())
      throw StartupError(
          "the profile '" + name + "' uses " + other +
          ", which winnow does not; put keys into the environment (aws configure export-credentials)");
  }
  if (named)
    throw StartupError("the profile '" + name +
                       "' has no keys; give it aws_access_key_id and aws_secret_access_key");
  return std::nullopt;
}

std::optional<Credentials> from_web_identity(HttpClient& http, const std::string& region) {
  const WebIdentity identity{environment("AWS_WEB_IDENTITY_TOKEN_FILE"), environment("AWS_ROLE_ARN"),
                             environment("AWS_ROLE_SESSION_NAME")};
  if (identity.token_file.empty() || identity.role.empty()) return std::nullopt;
  return assume_role(http, identity, region);
}

std::optional<Credentials> from_container(HttpClient& direct) {
  const std::string relative = address("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  std::string url = address("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative.empty()) {
    const std::string host = address("WINNOW_CONTAINER_CREDENTIALS_HOST");
    url = (host.empty() ? "http://169.254.170.2" : host) + relative;
  }
  if (url.empty()) return std::nullopt;
  HttpRequest request;
  request.url = url;
  request.timeout = kMetadataTimeout;
  // The file is read each time: it is renewed beside us.
  const std::string token_file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  const std::string token =
      token_file.empty() ? environment("AWS_CONTAINER_AUTHORIZATION_TOKEN") : first_line(token_file);
  if (!token.empty()) request.headers.emplace_back("authorization", token);
  const std::string where = "the container endpoint " + url;
  const auto outcome = direct.perform(request);
  if (!outcome || outcome.response.status != 200)
    fail(where, outcome, "check AWS_CONTAINER_CREDENTIALS_* and the role of the container");
  return parse_metadata(where, outcome.response.body);
}

std::optional<Credentials> from_instance(HttpClient& direct) {
  if (environment("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  const std::string given = address("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  std::string base = given.empty() ? "http://169.254.169.254" : given;
  while (base.ends_with('/')) base.pop_back();
  HttpRequest ask;
  ask.method = "PUT";
  ask.url = base + "/latest/api/token";
  ask.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  ask.timeout = kMetadataTimeout;
  const auto token = direct.perform(ask);
  // Nobody there: not a machine of theirs, unless somebody said so.
  if (!token && given.empty()) return std::nullopt;
  const std::string where = "the instance metadata service " + base;
  const std::string advice = "check the role of the instance, or give credentials another way";
  if (!token || token.response.status != 200) fail(where, token, advice);
  HttpRequest request;
  request.headers = {{"x-aws-ec2-metadata-token", token.response.body}};
  request.timeout = kMetadataTimeout;
  request.url = base + "/latest/meta-data/iam/security-credentials/";
  const auto roles = direct.perform(request);
  if (!roles || roles.response.status != 200) fail(where, roles, advice);
  request.url += roles.response.body.substr(0, roles.response.body.find('\n'));
  const auto answer = direct.perform(request);
  if (!answer || answer.response.status != 200) fail(where, answer, advice);
  return parse_metadata(where, answer.response.body);
}

}  // namespace winnow::s3
