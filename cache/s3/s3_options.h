// What can be told of an S3 source. Holds no secrets: it is saved beside the mount, and shown.
#pragma once

#include <chrono>
#include <string>

namespace winnow::s3 {

struct S3Options {
  std::string endpoint;             // "https://minio:9000"; empty: AWS's of the region
  std::string region;               // empty: from the environment or profile, else us-east-1
  std::string addressing = "auto";  // path, virtual; auto: path with an endpoint, virtual at AWS
  std::string profile;              // empty: the chain of credentials
  std::string ca_file;              // empty: the system's
  bool anonymous = false;
  std::chrono::milliseconds source_timeout{60'000};  // bounds the tries of a listing; zero: for ever
};

// "s3://bucket/some/prefix": the prefix ends with '/', or is empty.
struct S3Location {
  std::string bucket;
  std::string prefix;
};

bool is_s3_url(const std::string& source);
S3Location parse_s3_url(const std::string& url);  // throws StartupError

// Fills what was not given from the environment and the profile, and checks the rest; paths in the
// environment become absolute. Throws StartupError.
void resolve(S3Options& options);

// Makes the paths absolute that variables of the environment have for credentials: they are read again after
// the working directory was left, by this process and those that inherit from it. Before there are threads.
void make_paths_absolute();

// Where requests for a bucket go.
struct Address {
  std::string scheme_and_host;  // "https://bucket.s3.eu-west-1.amazonaws.com"
  std::string host;             // as the Host header has it
  std::string path;             // "/" or "/bucket/", encoded
};
// Throws StartupError if an address that errors would show holds a user or password.
void refuse_user_part(const std::string& option, const std::string& address);
std::string aws_domain(const std::string& region);  // ".amazonaws.com", or China's
Address address_of(const S3Options& options, const S3Location& location);

}  // namespace winnow::s3
