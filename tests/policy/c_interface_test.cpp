#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "policy/winnow_policy.h"

namespace {

TEST(CInterface, HasItsVersion) { EXPECT_EQ(winnow_policy_abi(), WINNOW_POLICY_ABI); }

TEST(CInterface, KeepsTheSentenceAndTheSampleOfARefusal) {
  const double p[] = {0.5, 2};
  double score[2];
  EXPECT_EQ(winnow_entropy(p, 2, score), WINNOW_REFUSED);
  EXPECT_STREQ(winnow_last_error(), "p_target of sample 1 must be in [0, 1], got 2");
  EXPECT_EQ(winnow_last_error_sample(), 1);
  EXPECT_EQ(winnow_selector_new("adaselection", "rate=2"), nullptr);
  EXPECT_STREQ(winnow_last_error(), "rate must be in (0, 1], got 2");
  EXPECT_EQ(winnow_last_error_sample(), -1);
}

TEST(CInterface, RefusesNullsAndNegativeCounts) {
  double score[2];
  EXPECT_EQ(winnow_entropy(nullptr, 2, score), WINNOW_REFUSED);
  EXPECT_STREQ(winnow_last_error(), "p_target must be an array, got NULL");
  EXPECT_EQ(winnow_random_u64(1, -1, nullptr), WINNOW_REFUSED);
  EXPECT_STREQ(winnow_last_error(), "out count must be at least 0, got -1");
  EXPECT_EQ(winnow_selector_set_epoch(nullptr, 1), WINNOW_REFUSED);
  EXPECT_STREQ(winnow_last_error(), "handle must be one that was made and not freed, got NULL");
  EXPECT_EQ(winnow_sampler_new("iowa", 0, "", ""), nullptr);
  EXPECT_STREQ(winnow_last_error(), "samples must be a finite number of at least 1, got 0");
  winnow_sampler_free(nullptr);
}

TEST(CInterface, ReadsSingleAndDoublePrecisionAlike) {
  const std::vector<float> single{0.5F, 0.25F, 4, 1};
  const std::vector<double> exact(single.begin(), single.end());
  winnow_selection selections[2];
  std::vector<int64_t> kept[2];
  for (const int which : {0, 1}) {
    winnow_selector* selector = winnow_selector_new("adaselection", "methods=big_loss rate=0.5");
    const winnow_values loss{which == 0 ? static_cast<const void*>(single.data()) : exact.data(), 4,
                             which == 0 ? WINNOW_FLOAT32 : WINNOW_FLOAT64};
    ASSERT_EQ(winnow_selector_select(selector, &loss, nullptr, nullptr, &selections[which]), WINNOW_OK);
    kept[which].assign(selections[which].kept, selections[which].kept + selections[which].kept_count);
    winnow_selector_free(selector);
  }
  EXPECT_EQ(kept[0], (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(kept[0], kept[1]);
  winnow_selector* selector = winnow_selector_new("adaselection", "");
  const winnow_values odd{exact.data(), 4, 7};
  EXPECT_EQ(winnow_selector_select(selector, &odd, nullptr, nullptr, &selections[0]), WINNOW_REFUSED);
  EXPECT_STREQ(winnow_last_error(), "loss type must be float32 or float64, got 7");
  winnow_selector_free(selector);
}

TEST(CInterface, ADetailASelectorDoesNotHaveIsRefused) {
  winnow_selector* selector = winnow_selector_new("biggest_loser", "");
  const double* values = nullptr;
  int64_t count = 0;
  EXPECT_EQ(winnow_selector_detail(selector, "weights", 0, &values, &count), WINNOW_REFUSED);
  EXPECT_STREQ(winnow_last_error(), "detail must be probability, got \"weights\"");
  EXPECT_EQ(winnow_selector_carry(selector, &count), WINNOW_REFUSED);
  winnow_selector_free(selector);
}

TEST(CInterface, ListsThePoliciesAsJson) {
  EXPECT_EQ(winnow_policies()[0], '[');
  EXPECT_NE(std::strstr(winnow_policies(), "\"name\":\"iowa\""), nullptr);
}

}  // namespace
