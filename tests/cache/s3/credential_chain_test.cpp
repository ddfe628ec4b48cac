#include "cache/s3/credential_chain.h"

#include <gtest/gtest.h>

#include <future>

#include "cache/result.h"

namespace winnow::s3 {
namespace {

struct Issuer {
  int asked = 0;
  bool fails = false;
  std::time_t life = 3600;
  std::time_t now = 1000;
  CredentialChain chain{[this] {
                          ++asked;
                          if (fails) throw StartupError("down; wait");
                          return Credentials{.access_key = std::to_string(asked),
                                             .secret_key = "s",
                                             .expires_at = life == 0 ? 0 : now + life};
                        },
                        [this] { return now; }};
};

TEST(CredentialChain, AsksOnceForCredentialsThatNeverExpire) {
  Issuer issuer{.life = 0};
  EXPECT_EQ(issuer.chain.get()->access_key, "1");
  issuer.now += 1'000'000;
  EXPECT_EQ(issuer.chain.get()->access_key, "1");
}

TEST(CredentialChain, RenewsBeforeTheyExpire) {
  Issuer issuer;
  issuer.chain.get();
  issuer.now += 3600 - 301;
  EXPECT_EQ(issuer.chain.get()->access_key, "1");
  issuer.now += 2;
  EXPECT_EQ(issuer.chain.get()->access_key, "2");
}

TEST(CredentialChain, GoesOnWithTheOldOnesWhileTheyLastIfRenewalFails) {
  Issuer issuer;
  issuer.chain.get();
  issuer.fails = true;
  issuer.now += 3600 - 100;
  EXPECT_EQ(issuer.chain.get()->access_key, "1");
  EXPECT_EQ(issuer.chain.get()->access_key, "1");
  EXPECT_EQ(issuer.asked, 2);  // not with every request
  issuer.now += 100;
  EXPECT_THROW(issuer.chain.get(), StartupError);
  EXPECT_THROW(issuer.chain.get(), StartupError);
  EXPECT_EQ(issuer.asked, 3);  // those who waited with it get the same answer
  issuer.fails = false;
  issuer.now += 1;
  EXPECT_EQ(issuer.chain.get()->access_key, "4");
}

TEST(CredentialChain, LooksForOthersWhenTheStoreRefusedThem) {
  Issuer issuer{.life = 0};
  const auto first = issuer.chain.get();
  EXPECT_TRUE(issuer.chain.replace(first));
  const auto second = issuer.chain.get();
  EXPECT_EQ(second->access_key, "2");
  EXPECT_TRUE(issuer.chain.replace(first));  // somebody else's, long replaced
  EXPECT_EQ(issuer.chain.get(), second);
}

TEST(CredentialChain, ItIsNoUseToTryAgainWithTheSame) {
  int asked = 0;
  CredentialChain chain([&] {
    ++asked;
    return Credentials{.access_key = "a", .secret_key = "s", .session_token = "t"};
  });
  EXPECT_FALSE(chain.replace(chain.get()));
  EXPECT_FALSE(chain.replace(chain.get()));
  EXPECT_EQ(asked, 3);
}

TEST(CredentialChain, ItIsOfUseToTryAgainWhileNobodyHasAny) {
  Issuer issuer{.life = 0};
  const auto first = issuer.chain.get();
  issuer.fails = true;
  EXPECT_TRUE(issuer.chain.replace(first));
}

TEST(CredentialChain, WhatIsRefusedWithoutAReasonIsReplacedOnce) {
  Issuer issuer{.life = 0};
  const auto first = issuer.chain.get();
  EXPECT_TRUE(issuer.chain.replace_once(first));
  const auto second = issuer.chain.get();
  EXPECT_EQ(second->access_key, "2");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(issuer.chain.replace_once(second)) << "it is not them";
  EXPECT_TRUE(issuer.chain.replace_once(first)) << "of one who began before";
  EXPECT_EQ(issuer.asked, 2);
  EXPECT_TRUE(issuer.chain.replace(second)) << "here the store says that it is";
  EXPECT_TRUE(issuer.chain.replace_once(issuer.chain.get()));
  EXPECT_EQ(issuer.asked, 4);
}

TEST(CredentialChain, OneRenewsWhileTheOthersGoOn) {
  std::promise<void> asked, go;
  std::time_t now = 0;
  int count = 0;
  CredentialChain chain(
      [&] {
        if (++count == 2) {
          asked.set_value();
          go.get_future().wait();
        }
        return Credentials{.access_key = std::to_string(count), .secret_key = "s", .expires_at = now + 1000};
      },
      [&] { return now; });
  chain.get();
  now = 900;
  auto renewing = std::async(std::launch::async, [&] { return chain.get()->access_key; });
  asked.get_future().wait();
  EXPECT_EQ(chain.get()->access_key, "1");
  go.set_value();
  EXPECT_EQ(renewing.get(), "2");
}

}  // namespace
}  // namespace winnow::s3
