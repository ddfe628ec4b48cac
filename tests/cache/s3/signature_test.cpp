// The vectors are those of Amazon's documentation ("Transferring Payload in a Single Chunk").
#include "cache/s3/signature.h"

#include <gtest/gtest.h>

#include <map>

namespace winnow::s3 {
namespace {

constexpr std::time_t kThen = 1'369'353'600;  // 2013-05-24 00:00:00 UTC
const Credentials kCredentials{.access_key = "AKIAIOSFODNN7EXAMPLE",
                               .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
const Scope kScope{.region = "us-east-1"};

SignedRequest get(std::string path) {
  return {.method = "GET", .host = "examplebucket.s3.amazonaws.com", .path = std::move(path)};
}

std::string authorization(const SignedRequest& request, const Credentials& credentials = kCredentials) {
  for (const auto& [name, value] : sign(request, credentials, kScope, kThen))
    if (name == "authorization") return value;
  return {};
}

TEST(Signature, IsThatOfTheDocumentationForAnObject) {
  SignedRequest request = get("/test.txt");
  request.headers = {{"range", "bytes=0-9"}};
  EXPECT_EQ(authorization(request),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(Signature, IsThatOfTheDocumentationForAnUpload) {
  SignedRequest request{
      .method = "PUT",
      .host = "examplebucket.s3.amazonaws.com",
      .path = "/test%24file.text",
      .headers = {{"x-amz-storage-class", "REDUCED_REDUNDANCY"}, {"date", "Fri, 24 May 2013 00:00:00 GMT"}},
      .payload = "Welcome to Amazon S3."};
  EXPECT_TRUE(
      authorization(request).ends_with("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(Signature, IsThatOfTheDocumentationForAListing) {
  SignedRequest request = get("/");
  request.query = {{"prefix", "J"}, {"max-keys", "2"}};  // sorted by the signer
  EXPECT_TRUE(
      authorization(request).ends_with("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(Signature, IsThatOfTheDocumentationForAParameterWithoutAValue) {
  SignedRequest request = get("/");
  request.query = {{"lifecycle", ""}};
  EXPECT_TRUE(
      authorization(request).ends_with("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(Signature, ASessionTokenIsSentAndSigned) {
  Credentials credentials = kCredentials;
  credentials.session_token = "token";
  const Fields added = sign(get("/"), credentials, kScope, kThen);
  const std::map<std::string, std::string> headers(added.begin(), added.end());
  EXPECT_EQ(headers.at("x-amz-security-token"), "token");
  EXPECT_NE(headers.at("authorization").find("x-amz-security-token,"), std::string::npos);
  EXPECT_NE(authorization(get("/"), credentials), authorization(get("/")));
}

TEST(Signature, TheSecretIsNotInWhatIsSent) {
  for (const auto& [name, value] : sign(get("/"), kCredentials, kScope, kThen))
    EXPECT_EQ(value.find(kCredentials.secret_key), std::string::npos);
}

TEST(CanonicalQuery, IsEncodedAndSorted) {
  EXPECT_EQ(canonical_query({{"b", "x y"}, {"a", "1+1/2"}, {"a", "0"}}), "a=0&a=1%2B1%2F2&b=x%20y");
}

}  // namespace
}  // namespace winnow::s3
