// A bucket as the contract test changes it: by signed PUTs and DELETEs, of the test origin or of whichever
// store WINNOW_TEST_S3_ENDPOINT names (with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; loopback only). Each
// has a prefix of its own in the bucket "data".
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>

#include "cache/s3/encoding.h"
#include "cache/s3/http_client.h"
#include "cache/s3/s3_scan.h"
#include "cache/s3/s3_source.h"

namespace winnow {

// The test origin, for as long as this lives.
class OriginProcess {
 public:
  OriginProcess() {
    // exec, so that the process is the origin and not a shell around it.
    const std::string command =
        "exec " WINNOW_TEST_ORIGIN " --bucket data --access-key test --secret-key secret";
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    FILE* out = fdopen(ends[0], "r");
    if (std::fscanf(out, "%d %d", &port_, &control_port_) != 2)
      throw std::runtime_error("the origin did not start");
    std::fclose(out);
  }
  ~OriginProcess() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }

  // A command of the control port (see tests/support/origin/server.h), and its answer.
  std::string control(const std::string& method, const std::string& path, const std::string& body = "") {
    s3::HttpRequest request;
    request.method = method;
    request.url = "http://127.0.0.1:" + std::to_string(control_port_) + path;
    request.body = body;
    const auto outcome = http_.perform(request);
    if (!outcome || outcome.response.status != 200)
      throw std::runtime_error(method + " " + path + ": " + outcome.error.text + outcome.response.body);
    return outcome.response.body;
  }

 private:
  s3::HttpClient http_{{.use_proxy = false}};
  pid_t pid_ = -1;
  int port_ = 0;
  int control_port_ = 0;
};

class Uploads {
 public:
  Uploads(std::string endpoint, s3::Credentials credentials)
      : endpoint_(std::move(endpoint)), credentials_(std::move(credentials)) {}

  void put(const std::string& key, const std::string& content) { send("PUT", key, content); }
  void remove(const std::string& key) { send("DELETE", key, ""); }

 private:
  void send(const std::string& method, const std::string& key, const std::string& body) {
    const std::string path = "/data" + (key.empty() ? "" : "/" + s3::percent_encode(key, true));
    s3::HttpRequest request;
    request.method = method;
    request.url = endpoint_ + path;
    request.body = body;
    request.headers = s3::sign({.method = method, .host = endpoint_.substr(7), .path = path, .payload = body},
                               credentials_, {.region = "us-east-1"}, std::time(nullptr));
    const auto outcome = http_.perform(request);
    if (!outcome) throw std::runtime_error(method + " " + key + ": " + outcome.error.text);
    if (outcome.response.status / 100 != 2)
      throw std::runtime_error(method + " " + key + ": " + std::to_string(outcome.response.status) + " " +
                               outcome.response.body);
  }

  const std::string endpoint_;
  const s3::Credentials credentials_;
  s3::HttpClient http_{{.use_proxy = false}};
};

class S3Bucket {
 public:
  S3Bucket() {
    const char* foreign = std::getenv("WINNOW_TEST_S3_ENDPOINT");
    if (foreign == nullptr) {
      origin_ = std::make_unique<OriginProcess>();
      setenv("AWS_ACCESS_KEY_ID", "test", 1);
      setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    }
    endpoint_ = foreign != nullptr ? foreign : origin_->endpoint();
    unsetenv("AWS_SESSION_TOKEN");
    uploads_ = std::make_unique<Uploads>(endpoint_,
                                         s3::Credentials{.access_key = std::getenv("AWS_ACCESS_KEY_ID"),
                                                         .secret_key = std::getenv("AWS_SECRET_ACCESS_KEY")});
    prefix_ = "contract-" + std::to_string(std::random_device{}()) + "/";
    options_ = {
        .endpoint = endpoint_, .region = "us-east-1", .source_timeout = std::chrono::milliseconds(10'000)};
    source_ = std::make_unique<s3::S3Source>("s3://data/" + prefix_, options_);
  }

  s3::S3Source& source() { return *source_; }
  const s3::S3Options& options() const { return options_; }
  const std::string& prefix() const { return prefix_; }
  void put(const std::string& path, const std::string& content) { uploads_->put(prefix_ + path, content); }
  // The object, and all below the folder of that name.
  void remove(const std::string& path) {
    s3::S3Client client(options_, {.bucket = "data"});
    s3::ListPage page;
    if (client.list({.prefix = prefix_ + path}, page).code != 0)
      throw std::runtime_error("cannot list " + path);
    for (const s3::ListedObject& object : page.objects)
      if (object.key == prefix_ + path || object.key.starts_with(prefix_ + path + "/"))
        uploads_->remove(object.key);
  }

 private:
  std::unique_ptr<OriginProcess> origin_;
  std::string endpoint_;
  std::unique_ptr<Uploads> uploads_;
  std::string prefix_;
  s3::S3Options options_;
  std::unique_ptr<s3::S3Source> source_;
};

}  // namespace winnow
