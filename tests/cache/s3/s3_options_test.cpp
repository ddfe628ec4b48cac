#include "cache/s3/s3_options.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cache/result.h"
#include "cache/s3/profile_files.h"
#include "tests/cache/temporary_folder.h"

namespace winnow::s3 {
namespace {

class S3OptionsTest : public testing::Test {
 protected:
  S3OptionsTest() {
    for (const char* name : {"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
                             "AWS_CA_BUNDLE", "AWS_ENDPOINT_URL_S3"})
      unsetenv(name);
    setenv("AWS_SHARED_CREDENTIALS_FILE", (folder_ / "credentials").c_str(), 1);
    setenv("AWS_CONFIG_FILE", (folder_ / "config").c_str(), 1);
  }
  TemporaryFolder folder_;
};

std::string sentence(const std::function<void()>& action) {
  try {
    action();
  } catch (const StartupError& error) {
    return error.what();
  }
  return "";
}

TEST_F(S3OptionsTest, AUrlNamesABucketAndAPrefixThatIsAFolder) {
  EXPECT_EQ(parse_s3_url("s3://bucket").prefix, "");
  EXPECT_EQ(parse_s3_url("s3://bucket/").prefix, "");
  EXPECT_EQ(parse_s3_url("s3://bucket/a/b").prefix, "a/b/");
  EXPECT_EQ(parse_s3_url("s3://bucket/a/b/").prefix, "a/b/");
  EXPECT_EQ(parse_s3_url("s3://bucket/a").bucket, "bucket");
  for (const char* wrong : {"s3://", "s3:///a", "s3://a b/c", "s3://xy"})
    EXPECT_NE(sentence([&] { parse_s3_url(wrong); }).find("names no bucket"), std::string::npos) << wrong;
}

TEST_F(S3OptionsTest, AnEndpointMeansPathStyleUnlessTold) {
  S3Options options{.endpoint = "http://host:9000"};
  Address address = address_of(options, {.bucket = "b-1"});
  EXPECT_EQ(address.scheme_and_host + address.path, "http://host:9000/b-1/");
  EXPECT_EQ(address.host, "host:9000");
  options.addressing = "virtual";
  address = address_of(options, {.bucket = "b-1"});
  EXPECT_EQ(address.scheme_and_host + address.path, "http://b-1.host:9000/");
  EXPECT_EQ(address.host, "b-1.host:9000");
}

TEST_F(S3OptionsTest, AtAwsTheHostHasTheBucketIfItsNameFits) {
  const S3Options options{.region = "eu-west-1"};
  EXPECT_EQ(address_of(options, {.bucket = "plain"}).scheme_and_host,
            "https://plain.s3.eu-west-1.amazonaws.com");
  const Address dotted = address_of(options, {.bucket = "dot.ted"});
  EXPECT_EQ(dotted.scheme_and_host + dotted.path, "https://s3.eu-west-1.amazonaws.com/dot.ted/");
  EXPECT_EQ(address_of({.region = "cn-north-1"}, {.bucket = "plain"}).host,
            "plain.s3.cn-north-1.amazonaws.com.cn");
}

TEST_F(S3OptionsTest, TheSchemesOwnPortIsNotInTheHostHeader) {
  EXPECT_EQ(address_of({.endpoint = "https://h:443"}, {.bucket = "bbb"}).host, "h");
  EXPECT_EQ(address_of({.endpoint = "http://h:443"}, {.bucket = "bbb"}).host, "h:443");
}

TEST_F(S3OptionsTest, WhatIsNotGivenComesFromTheEnvironmentAndTheProfile) {
  folder_.file("config",
               "[profile p]\nregion = eu-north-1\nendpoint_url=http://store:1\ns3 =\n  region = nested\n");
  S3Options options{.profile = "p"};
  resolve(options);
  EXPECT_EQ(options.region, "eu-north-1");
  EXPECT_EQ(options.endpoint, "http://store:1");
  setenv("AWS_REGION", "eu-west-2", 1);
  setenv("AWS_PROFILE", "p", 1);
  S3Options other{.endpoint = "https://other:9/"};
  resolve(other);
  EXPECT_EQ(other.region, "eu-west-2");
  EXPECT_EQ(other.endpoint, "https://other:9");
  EXPECT_EQ(other.profile, "") << "goes behind the environment's keys, as others have it";
}

TEST_F(S3OptionsTest, WithoutAnythingItIsUsEast1) {
  S3Options options;
  resolve(options);
  EXPECT_EQ(options.region, "us-east-1");
  EXPECT_EQ(options.endpoint, "");
}

TEST_F(S3OptionsTest, RefusesWhatCannotBe) {
  const auto refused = [&](S3Options options) { return sentence([&] { resolve(options); }); };
  EXPECT_NE(refused({.endpoint = "http://user:secret@host"}).find("must not hold"), std::string::npos);
  EXPECT_EQ(refused({.endpoint = "http://user:secret@host"}).find("secret"), std::string::npos);
  EXPECT_NE(refused({.endpoint = "ftp://host"}).find("is not an address"), std::string::npos);
  EXPECT_NE(refused({.endpoint = "host:9000"}).find("write http(s)://HOST"), std::string::npos) << "which of both?";
  EXPECT_NE(refused({.endpoint = "http://host/path"}).find("is not an address"), std::string::npos);
  EXPECT_NE(refused({.profile = "nobody"}).find("the profile 'nobody' is neither in"), std::string::npos);
  EXPECT_NE(refused({.ca_file = "/nowhere"}).find("--ca-file /nowhere"), std::string::npos);
}

TEST_F(S3OptionsTest, PathsInTheEnvironmentOutliveTheWorkingDirectory) {
  const std::string here = std::filesystem::current_path().string();
  for (const char* name : {"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
                           "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"}) {
    setenv(name, "some/file", 1);
    S3Options options;
    resolve(options);
    EXPECT_EQ(environment(name), here + "/some/file") << name;
    unsetenv(name);
  }
  make_paths_absolute();
  EXPECT_EQ(environment("AWS_CONFIG_FILE"), "");
}

TEST_F(S3OptionsTest, WithoutHomeTheFilesAreThoseOfWhoRunsThis) {
  const std::string home = environment("HOME");
  for (const char* name : {"HOME", "AWS_SHARED_CREDENTIALS_FILE"}) unsetenv(name);
  const std::string said = sentence([] { load_profile("nobody-has-this", true); });
  setenv("HOME", home.c_str(), 1);
  const std::string expected = std::string(getpwuid(geteuid())->pw_dir) + "/.aws/credentials";
  EXPECT_NE(said.find(expected), std::string::npos) << said;
}

TEST_F(S3OptionsTest, TheCredentialsFileWinsOverTheConfigFile) {
  folder_.file("config", "# c\n[default]\naws_access_key_id = config\nregion=r\n");
  folder_.file("credentials",
               "; c\n[default]\n aws_access_key_id = x\naws_access_key_id=file\n[other]\na = b = c\n");
  Profile profile = load_profile("default", true);
  EXPECT_EQ(profile["aws_access_key_id"], "file");
  EXPECT_EQ(profile["region"], "r");
  EXPECT_EQ(load_profile("other", true)["a"], "b = c");
}

}  // namespace
}  // namespace winnow::s3
