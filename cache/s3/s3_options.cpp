#include "cache/s3/s3_options.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "cache/result.h"
#include "cache/s3/encoding.h"
#include "cache/s3/profile_files.h"

namespace winnow::s3 {

namespace {

constexpr std::string_view kScheme = "s3://";

std::string first_of(std::initializer_list<std::string> candidates) {
  for (const std::string& text : candidates)
    if (!text.empty()) return text;
  return {};
}

void check_endpoint(std::string& endpoint) {
  if (endpoint.empty()) return;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool http = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  const auto host = http ? endpoint.find("://") + 3 : 0;
  refuse_user_part("--s3-endpoint", endpoint);
  if (!http || host == endpoint.size() || endpoint.find_first_of("/?# ", host) != std::string::npos)
    throw StartupError("--s3-endpoint " + endpoint +
                       " is not an address; write http(s)://HOST or http(s)://HOST:PORT");
}

// A bucket whose name fits under the certificate of its endpoint.
bool fits_host_name(const std::string& bucket) {
  return std::all_of(bucket.begin(), bucket.end(), [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-';
  });
}

}  // namespace

bool is_s3_url(const std::string& source) { return source.starts_with(kScheme); }

S3Location parse_s3_url(const std::string& url) {
  const std::string rest = url.substr(kScheme.size());
  const auto slash = std::min(rest.find('/'), rest.size());
  S3Location location{.bucket = rest.substr(0, slash)};
  const bool named = location.bucket.size() >= 3 && location.bucket.size() <= 63 &&
                     std::all_of(location.bucket.begin(), location.bucket.end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
                     });
  if (!named)
    throw StartupError("source " + url + " names no bucket; write s3://BUCKET or s3://BUCKET/PREFIX");
  if (slash < rest.size()) location.prefix = rest.substr(slash + 1);
  if (!location.prefix.empty() && !location.prefix.ends_with('/')) location.prefix += '/';
  return location;
}

void make_paths_absolute() {
  for (const char* name : {"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
                           "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"}) {
    const std::string path = environment(name);
    if (!path.empty()) setenv(name, std::filesystem::absolute(path).c_str(), 1);
  }
}

void resolve(S3Options& options) {
  make_paths_absolute();
  const std::string named = first_of({options.profile, environment("AWS_PROFILE")});
  const Profile profile = load_profile(first_of({named, "default"}), !named.empty() && !options.anonymous);
  const auto told = [&](const char* key) {
    const auto found = profile.find(key);
    return found == profile.end() ? std::string() : found->second;
  };
  options.endpoint = first_of({options.endpoint, environment("AWS_ENDPOINT_URL_S3"),
                               environment("AWS_ENDPOINT_URL"), told("endpoint_url")});
  check_endpoint(options.endpoint);
  options.region = first_of({options.region, environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"),
                             told("region"), "us-east-1"});
  options.ca_file = first_of({options.ca_file, environment("AWS_CA_BUNDLE")});
  if (options.addressing != "auto" && options.addressing != "path" && options.addressing != "virtual")
    throw StartupError("--s3-addressing must be auto, path or virtual, not '" + options.addressing + "'");
  if (!options.ca_file.empty() && access(options.ca_file.c_str(), R_OK) != 0)
    throw StartupError("--ca-file " + options.ca_file + ": " + errno_text(errno) +
                       "; name a readable file of certificates in PEM");
}

void refuse_user_part(const std::string& option, const std::string& address) {
  if (address.find('@') != std::string::npos)
    throw StartupError(option +
                       " must not hold a user or password; give credentials in the environment or a file");
}

std::string aws_domain(const std::string& region) {
  return region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
}

Address address_of(const S3Options& options, const S3Location& location) {
  std::string endpoint = options.endpoint;
  if (endpoint.empty())
    endpoint = "https://s3." + options.region + aws_domain(options.region);
  const auto host_at = endpoint.find("://") + 3;
  const std::string scheme = endpoint.substr(0, host_at);
  std::string host = endpoint.substr(host_at);
  const bool path_style =
      options.addressing == "path" ||
      (options.addressing == "auto" && (!options.endpoint.empty() || !fits_host_name(location.bucket)));
  if (!path_style) host = location.bucket + "." + host;
  Address address{.scheme_and_host = scheme + host, .host = host};
  address.path = path_style ? "/" + percent_encode(location.bucket, false) + "/" : "/";
  // The Host header leaves the scheme's own port out, and the signature must say what it says.
  const std::string own_port = scheme == "https://" ? ":443" : ":80";
  if (address.host.ends_with(own_port)) address.host.resize(address.host.size() - own_port.size());
  return address;
}

}  // namespace winnow::s3
