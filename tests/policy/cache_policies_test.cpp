#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "policy/cache_importance.h"
#include "policy/ranked_eviction.h"
#include "policy/registry.h"
#include "policy/substitution.h"
#include "policy/two_random.h"
#include "tests/policy/refusal.h"

namespace winnow {
namespace {

class EvictionContract : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<EvictionPolicy> policy = make_eviction(GetParam(), "");
};

std::vector<std::string> eviction_names() {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : registry()) {
    if (entry.info.kind == PolicyKind::eviction) names.push_back(entry.info.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, EvictionContract, testing::ValuesIn(eviction_names()), [](const auto& of) {
  return of.param == "2-random" ? std::string("two_random") : of.param;
});

TEST_P(EvictionContract, HasNoVictimWhenEmptyAndIgnoresUnknownIds) {
  policy->on_hit(SampleId{9});
  policy->on_remove(SampleId{9});
  EXPECT_EQ(policy->victim(), std::nullopt);
}

TEST_P(EvictionContract, TheVictimIsAlwaysAResidentAndAskingChangesNothing) {
  Random random(1);
  std::set<std::uint64_t> residents;
  auto* by_epoch = dynamic_cast<EpochEviction*>(policy.get());
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t id = 1 + random.below(50);
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
        policy->on_insert(SampleId{id},
                          {.bytes = 10, .importance = random.unit(), .next_use = random.below(1000)});
        residents.insert(id);
        break;
      case 3:
        policy->on_remove(SampleId{id});
        residents.erase(id);
        break;
      case 4:
        if (by_epoch != nullptr && step % 50 == 0) by_epoch->begin_epoch();
        break;
      default:
        policy->on_hit(SampleId{id});
    }
    const auto victim = policy->victim();
    ASSERT_EQ(victim, policy->victim());
    if (GetParam() == "none" || residents.empty()) {
      ASSERT_EQ(victim, std::nullopt);
    } else {
      ASSERT_TRUE(victim && residents.contains(value(*victim)));
    }
  }
}

TEST_P(EvictionContract, WhatWasReadThisEpochLeavesFirst) {
  auto* by_epoch = dynamic_cast<EpochEviction*>(policy.get());
  if (by_epoch == nullptr) GTEST_SKIP() << GetParam() << " does not tell read from unread";
  for (std::uint64_t id = 1; id <= 20; ++id)
    policy->on_insert(SampleId{id}, {.importance = 0.01 * static_cast<double>(id)});
  by_epoch->begin_epoch();
  policy->on_hit(SampleId{20});
  policy->on_hit(SampleId{19});
  for (int i = 0; i < 2; ++i) {
    const SampleId victim = *policy->victim();
    EXPECT_GE(value(victim), 19U);
    policy->on_remove(victim);
  }
  EXPECT_LT(value(*policy->victim()), 19U);
}

TEST_P(EvictionContract, RefusesParametersItDoesNotHave) {
  EXPECT_NE(refusal_of([] {
              make_eviction(GetParam(), "size=3");
            }).find("parameter of " + GetParam() + " must be one of"),
            std::string::npos);
}

// Epochs of a shuffle over 200 samples with room for 40: hits per policy.
std::map<std::string, int> simulated_hits() {
  std::vector<SampleId> trace;
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    for (const Index i : shuffled_indices(200, epoch))
      trace.push_back(SampleId{static_cast<std::uint64_t>(i) + 1});
  }
  const std::vector<std::uint64_t> next = next_uses(trace);
  std::map<std::string, int> hits;
  for (const std::string& name : eviction_names()) {
    const auto eviction = make_eviction(name, "");
    const auto admission = make_admission(name);
    std::map<std::uint64_t, CachedFacts> residents;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      auto* by_epoch = dynamic_cast<EpochEviction*>(eviction.get());
      if (i % 200 == 0 && by_epoch != nullptr) by_epoch->begin_epoch();
      const std::uint64_t id = value(trace[i]);
      const CachedFacts facts{
          .bytes = 1, .importance = static_cast<double>(id % 97) / 97, .read = true, .next_use = next[i]};
      if (residents.contains(id)) {
        ++hits[name];
        eviction->on_hit(trace[i]);
        if (name == "belady") eviction->on_insert(trace[i], facts);
        residents[id] = facts;
        continue;
      }
      std::vector<CachedFacts> leaving;
      const auto victim = eviction->victim();
      if (residents.size() == 40) leaving.push_back(victim ? residents.at(value(*victim)) : CachedFacts{});
      if (!admission->admits(facts, leaving)) continue;
      if (!leaving.empty()) {
        residents.erase(value(*victim));
        eviction->on_remove(*victim);
      }
      residents[id] = facts;
      eviction->on_insert(trace[i], facts);
    }
  }
  return hits;
}

// DESIGN §4: with a uniform shuffle nobody exceeds cache / data set; never evicting reaches it, LRU is far
// below.
TEST(CachePolicies, OnAShuffleNobodyBeatsBeladyAndNeverEvictingIsAsGood) {
  std::map<std::string, int> hits = simulated_hits();
  const int possible = 19 * 40;
  EXPECT_EQ(hits["none"], possible);
  for (const auto& [name, count] : hits) EXPECT_LE(count, hits["belady"]) << name;
  EXPECT_LT(hits["lru"], possible / 4);
  EXPECT_GT(hits["importance"], possible * 9 / 10);
}

TEST(TwoRandom, TheSameSeedChoosesTheSame) {
  const auto victims = [](std::uint64_t seed) {
    TwoRandom policy(seed);
    for (std::uint64_t id = 1; id <= 100; ++id) policy.on_insert(SampleId{id}, {});
    std::vector<SampleId> order;
    while (policy.victim()) {
      order.push_back(*policy.victim());
      policy.on_remove(order.back());
    }
    return order;
  };
  EXPECT_EQ(victims(1), victims(1));
  EXPECT_NE(victims(1), victims(2));
}

TEST(TwoRandom, TheMoreRecentlyUsedOfTwoStays) {
  TwoRandom policy(1);
  for (const std::uint64_t id : {1, 2}) policy.on_insert(SampleId{id}, {.read = true});
  policy.on_hit(SampleId{1});
  EXPECT_EQ(policy.victim(), SampleId{2});
}

TEST(ImportanceEviction, TheLeastImportantLeavesThenTheLeastRecentlyUsed) {
  ImportanceEviction policy;
  policy.on_insert(SampleId{1}, {.importance = 0.5});
  policy.on_insert(SampleId{2}, {.importance = 0.2});
  policy.on_insert(SampleId{3}, {.importance = 0.2});
  EXPECT_EQ(policy.victim(), SampleId{2});
  policy.on_insert(SampleId{2}, {.importance = 0.9});
  EXPECT_EQ(policy.victim(), SampleId{3});
}

TEST(Admission, ANewcomerMustBeMoreImportantThanEachThatWouldLeave) {
  const auto importance = make_admission("importance");
  const std::vector<CachedFacts> leaving{{.importance = 0.2}, {.importance = 0.5}};
  EXPECT_TRUE(importance->admits({.importance = 0.6}, leaving));
  EXPECT_FALSE(importance->admits({.importance = 0.5}, leaving));
  EXPECT_TRUE(importance->admits({.importance = 0}, {}));
  EXPECT_FALSE(make_admission("none")->admits({.importance = 1}, leaving));
  EXPECT_TRUE(make_admission("lru")->admits({.importance = 0}, leaving));
}

TEST(CacheImportance, IsTheShareOfLowerScores) {
  Buckets buckets(6);
  buckets.move_out(4);
  const std::vector<double> scores{3, 1, 1, NAN, 9, 2};
  EXPECT_EQ(cache_importance(scores, buckets), (std::vector<double>{1, 0, 0, 1, 0, 2.0 / 3}));
  const std::vector<double> one{NAN, 5, NAN, NAN, NAN, NAN};
  EXPECT_EQ(cache_importance(one, buckets)[1], 1);
}

TEST(CacheImportance, OverJobsIsTheMaximumWeighedByStall) {
  const std::vector<double> first{1, 0.5}, second{0.2, 1};
  const std::vector<JobImportance> jobs{{first, 0.2}, {second, 0.8}};
  EXPECT_EQ(combined_importance(jobs), (std::vector<double>{0.25, 1}));
  const std::vector<JobImportance> idle{{first, 0}, {second, 0}};
  EXPECT_EQ(combined_importance(idle), (std::vector<double>{1, 1}));
  EXPECT_EQ(refusal_of([] { combined_importance({}); }), "jobs must be at least one, got none");
}

TEST(SweepOrder, UnreadInProcessByImportanceThenWaitingOrAsDeclared) {
  const std::vector<double> importance{0.5, 0.9, 0, 0.9, 1, 0};
  const std::vector<bool> read{false, false, false, false, true, false},
      waiting{false, false, true, false, false, true};
  EXPECT_EQ(sweep_order({importance, read, waiting}), (std::vector<Index>{1, 3, 0, 2, 5}));
  const std::vector<Index> declared{4, 2, 0, 1};
  EXPECT_EQ(sweep_order({importance, read, waiting, {}, declared}), (std::vector<Index>{2, 0, 1}));
}

TEST(SweepOrder, OfEquallyImportantSamplesTheSmallestThenTheLowestIdComesFirst) {
  const double never_scored = std::nan("");
  const std::vector<double> importance{0.5, 1, never_scored, 1, 0.5, never_scored, 1};
  const std::vector<std::uint64_t> bytes{9, 5, 8, 2, 1, 7, 2};
  const std::vector<bool> none(importance.size());
  EXPECT_EQ(sweep_order({importance, none, none, bytes}), (std::vector<Index>{5, 2, 3, 6, 1, 4, 0}));
  const std::vector<std::uint64_t> too_few{1, 2};
  EXPECT_THROW(sweep_order({importance, none, none, too_few}), PolicyError);
}

struct Substitution {
  AskedSample asked{.scored = true,
                    .important = false,
                    .cached = false,
                    .label = 3,
                    .size = 100,
                    .ends_itself = true,
                    .epochs_since_exact = 2};
  OfferedSample offered{
      .cached = true, .important = false, .label = 3, .size = 90, .same_group = true, .ends_itself = true};
  ClassReads reads{.reads = 100, .substituted = 5};
  SubstitutionOptions options;
  SubstitutionVerdict verdict() const { return judge_substitution(asked, offered, reads, options); }
};

TEST(SubstitutionRule, AllowsOnlyWhatEveryClauseAllows) {
  using enum SubstitutionVerdict;
  EXPECT_EQ(Substitution{}.verdict(), allowed);
  const auto with = [](auto change) {
    Substitution changed;
    change(changed);
    return changed.verdict();
  };
  EXPECT_EQ(with([](auto& s) { s.asked.important = true; }), asked_is_important);
  EXPECT_EQ(with([](auto& s) { s.asked.scored = false; }), asked_is_important);
  EXPECT_EQ(with([](auto& s) { s.asked.cached = true; }), asked_is_cached);
  EXPECT_EQ(with([](auto& s) { s.offered.cached = false; }), offered_is_not_cached);
  EXPECT_EQ(with([](auto& s) { s.offered.label = 4; }), labels_differ);
  EXPECT_EQ(with([](auto& s) { s.asked.label = s.offered.label = std::nullopt; }), labels_differ);
  EXPECT_EQ(with([](auto& s) { s.offered.same_group = false; }), not_in_group);
  EXPECT_EQ(with([](auto& s) {
              s.options.from = SubstituteFrom::same_class;
              s.offered.important = true;
            }),
            offered_is_important);
  EXPECT_EQ(with([](auto& s) {
              s.options.from = SubstituteFrom::same_class;
              s.offered.same_group = false;
            }),
            allowed);
  EXPECT_EQ(with([](auto& s) { s.offered.size = 101; }), offered_is_larger);
  EXPECT_EQ(with([](auto& s) { s.offered.size = 100; }), allowed);
  EXPECT_EQ(with([](auto& s) { s.asked.ends_itself = false; }), format_does_not_end_itself);
  EXPECT_EQ(with([](auto& s) { s.reads.substituted = 9; }), allowed);
  EXPECT_EQ(with([](auto& s) { s.reads.substituted = 10; }), budget_is_used_up);
  EXPECT_EQ(with([](auto& s) { s.asked.epochs_since_exact = 5; }), allowed);
  EXPECT_EQ(with([](auto& s) { s.asked.epochs_since_exact = 6; }), not_exact_for_too_long);
  EXPECT_EQ(with([](auto& s) { s.asked.epochs_since_exact = std::nullopt; }), not_exact_for_too_long);
  EXPECT_EQ(refusal_of([&] { with([](auto& s) { s.options.budget = 2; }); }),
            "substitute must be in [0, 1], got 2");
  EXPECT_EQ(name_of(budget_is_used_up), "budget is used up");
}

}  // namespace
}  // namespace winnow
