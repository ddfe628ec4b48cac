#include "policy/simulation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "policy/random.h"
#include "policy/ranked_eviction.h"
#include "policy/registry.h"
#include "tests/policy/refusal.h"

namespace winnow {
namespace {

using Counts = SimulationCounts;

const std::vector<std::string> kPolicies{"lru", "2-random", "none", "importance", "belady"};

Counts run(const AccessTrace& trace, const std::string& policy, std::uint64_t bytes,
           std::optional<SubstitutionOptions> substitution = std::nullopt) {
  const Counts counts =
      simulate(trace, next_uses(trace.reads),
               {.policy = policy, .parameters = "", .bytes = bytes, .substitution = substitution});
  EXPECT_EQ(counts.hits + counts.substituted + counts.fetched, trace.reads.size()) << policy;
  EXPECT_LE(counts.high_water_bytes, bytes) << policy;
  return counts;
}

// Of the reads that could be hits.
double hit_rate(const AccessTrace& trace, const std::string& policy, std::uint64_t bytes) {
  return static_cast<double>(run(trace, policy, bytes).hits) /
         static_cast<double>(trace.reads.size() - trace.first_reads());
}

AccessTrace trace_of(const std::vector<std::uint64_t>& reads, std::vector<std::uint64_t> bytes) {
  AccessTrace trace;
  for (const std::uint64_t one : bytes)
    trace.samples.push_back({.bytes = one, .label = 0, .ends_itself = true});
  for (const std::uint64_t id : reads) trace.reads.push_back(SampleId{id});
  return trace;
}

AccessTrace random_trace(Random& random, bool equal_sizes) {
  std::vector<std::uint64_t> bytes(2 + random.below(12));
  for (std::uint64_t& one : bytes) one = equal_sizes ? 10 : 1 + random.below(20);
  std::vector<std::uint64_t> reads(1 + random.below(150));
  for (std::uint64_t& id : reads) id = 1 + random.below(bytes.size());
  AccessTrace trace = trace_of(reads, bytes);
  std::vector<double> scores(bytes.size());
  for (double& score : scores) score = random.below(4) == 0 ? NAN : random.unit();
  apply_scores(trace, scores, 0.5);
  trace.epoch_starts = recognised_epochs(trace.reads, trace.samples.size());
  return trace;
}

TEST(Simulation, OnAShuffleItAgreesWithTheory) {
  const AccessTrace trace =
      generate({.samples = 20'000, .epochs = 6, .seed = 7, .least_bytes = 10, .most_bytes = 10});
  for (const double share : {0.05, 0.2, 0.5}) {
    const auto bytes = static_cast<std::uint64_t>(share * 200'000);
    // A hit needs that fewer others came between: with u and v the places in two epochs, u(1-v) >= 1-share.
    EXPECT_NEAR(hit_rate(trace, "lru", bytes), share + (1 - share) * std::log(1 - share), 0.004) << share;
    EXPECT_DOUBLE_EQ(hit_rate(trace, "none", bytes), share);
    EXPECT_NEAR(hit_rate(trace, "belady", bytes), share, 1e-3);
    EXPECT_GE(hit_rate(trace, "belady", bytes), share);
    EXPECT_GT(hit_rate(trace, "2-random", bytes), hit_rate(trace, "lru", bytes));
    EXPECT_LE(hit_rate(trace, "2-random", bytes), hit_rate(trace, "belady", bytes));
    EXPECT_GT(hit_rate(trace, "importance", bytes), 0.9 * share);
  }
  EXPECT_NEAR(hit_rate(trace, "lru", 40'000), 0.021, 0.003);  // DESIGN §4
  for (const std::string& policy : kPolicies) {
    EXPECT_EQ(hit_rate(trace, policy, 200'000), 1) << policy;
    EXPECT_EQ(hit_rate(trace, policy, 9), 0) << policy;
  }
}

TEST(Simulation, InOrderLruNeverHitsAndNeverEvictingDoes) {
  const AccessTrace trace = generate(
      {.kind = TraceKind::in_order, .samples = 1000, .epochs = 4, .least_bytes = 1, .most_bytes = 1});
  EXPECT_EQ(hit_rate(trace, "lru", 999), 0);
  EXPECT_DOUBLE_EQ(hit_rate(trace, "none", 300), 0.3);
}

TEST(Simulation, NobodyBeatsBeladyOnFilesOfOneSize) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const AccessTrace trace = random_trace(random, true);
    const std::uint64_t bytes = 10 * random.below(trace.samples.size() + 1);
    const std::uint64_t bound = run(trace, "belady", bytes).hits;
    for (const std::string& policy : kPolicies) {
      ASSERT_LE(run(trace, policy, bytes).hits, bound) << policy << " in round " << round;
      const auto substituting = run(trace, policy, bytes, SubstitutionOptions{.budget = 0.5});
      ASSERT_LE(substituting.hits, bound) << policy << " with substitution in round " << round;
    }
  }
}

// The rules of ALGORITHMS §5, told as plainly as can be: every decision by looking at all residents.
std::uint64_t plain_hits(const AccessTrace& trace, const std::string& policy, std::uint64_t budget) {
  struct Resident {
    std::uint64_t last_use;
    bool read;
  };
  std::map<std::uint64_t, Resident> residents;
  const auto next_use = [&](std::uint64_t id, std::size_t after) {
    for (std::size_t i = after + 1; i < trace.reads.size(); ++i) {
      if (value(trace.reads[i]) == id) return i;
    }
    return SIZE_MAX;
  };
  std::uint64_t hits = 0;
  for (std::size_t now = 0; now < trace.reads.size(); ++now) {
    if (std::count(trace.epoch_starts.begin(), trace.epoch_starts.end(), now) > 0) {
      for (auto& [id, one] : residents) one.read = false;
    }
    const std::uint64_t id = value(trace.reads[now]);
    if (residents.contains(id)) {
      ++hits;
      residents[id] = {now, true};
      continue;
    }
    if (residents.size() < budget) {
      residents[id] = {now, true};
      continue;
    }
    if (policy == "none" || budget == 0) continue;
    const auto rank = [&](std::uint64_t one) {
      const Resident& of = residents.at(one);
      if (policy == "lru") return std::tuple(0.0, 0.0, static_cast<double>(of.last_use));
      if (policy == "belady") return std::tuple(0.0, -static_cast<double>(next_use(one, now)), 0.0);
      return std::tuple(of.read ? 0.0 : 1.0, trace.samples[one - 1].importance,
                        static_cast<double>(of.last_use));
    };
    std::uint64_t victim = residents.begin()->first;
    for (const auto& [one, facts] : residents) {
      if (rank(one) < rank(victim)) victim = one;
    }
    const bool worse =
        policy == "belady" ? next_use(id, now) >= next_use(victim, now)
                           : trace.samples[id - 1].importance <= trace.samples[victim - 1].importance;
    if (policy != "lru" && worse) continue;
    residents.erase(victim);
    residents[id] = {now, true};
  }
  return hits;
}

TEST(Simulation, DoesOnTinyTracesWhatThePlainRulesDo) {
  Random random(11);
  std::uint64_t hits = 0;
  for (int round = 0; round < 300; ++round) {
    const AccessTrace trace = random_trace(random, true);
    const std::uint64_t places = random.below(trace.samples.size() + 1);
    for (const std::string policy : {"lru", "none", "importance", "belady"}) {
      const std::uint64_t expected = plain_hits(trace, policy, places);
      ASSERT_EQ(run(trace, policy, 10 * places).hits, expected) << policy << " in round " << round;
      hits += expected;
    }
  }
  EXPECT_GT(hits, 1000U);
}

TEST(Simulation, FilesOfUnequalSizeStayWithinTheBytes) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    const AccessTrace trace = random_trace(random, false);
    const std::uint64_t all = trace.total_bytes();
    for (const std::string& policy : kPolicies) {
      run(trace, policy, random.below(all + 1));
      ASSERT_EQ(run(trace, policy, all).hits, trace.reads.size() - trace.first_reads()) << policy;
    }
  }
}

TEST(Simulation, WhatIsLargerThanTheCacheIsNotAdmittedAndPushesNobodyOut) {
  const AccessTrace trace = trace_of({1, 2, 1, 2}, {5, 11});
  EXPECT_EQ(run(trace, "lru", 10).hits, 1U);
}

// 1 is important and cached; 2 lost the vote; both are of one label.
AccessTrace substitutable(std::uint64_t size_of_2) {
  AccessTrace trace = trace_of({1, 2, 1, 2, 1, 2}, {10, size_of_2});
  apply_scores(trace, std::vector<double>{5, 1}, 0.5);
  trace.epoch_starts = {2, 4};
  return trace;
}

TEST(Simulation, ASubstitutedReadIsNoHitAndNoFetch) {
  const Counts counts = run(substitutable(10), "none", 10, SubstitutionOptions{.budget = 0.5});
  EXPECT_EQ(counts.hits, 2U);
  EXPECT_EQ(counts.substituted, 2U);  // not in the first epoch: it was never served exactly before
  EXPECT_EQ(counts.fetched, 2U);
}

TEST(Simulation, SubstitutionKeepsItsContract) {
  const auto substituted = [](const AccessTrace& trace, SubstitutionOptions options) {
    return run(trace, "none", 10, options).substituted;
  };
  EXPECT_EQ(substituted(substitutable(9), {.budget = 0.5}), 0U);  // larger than what it stands for
  EXPECT_EQ(substituted(substitutable(10), {.budget = 0.49}), 0U);
  EXPECT_EQ(substituted(substitutable(10), {.from = SubstituteFrom::same_class, .budget = 0.5}), 0U);
  EXPECT_EQ(substituted(substitutable(10), {.budget = 0.5, .recall_epochs = 0}), 0U);
  EXPECT_EQ(substituted(substitutable(10), {.budget = 0.5, .recall_epochs = 1}), 1U);
  AccessTrace other_label = substitutable(10);
  other_label.samples[1].label = 1;
  EXPECT_EQ(substituted(other_label, {.budget = 1}), 0U);
  AccessTrace important = substitutable(10);
  important.samples[1].important = true;
  EXPECT_EQ(substituted(important, {.budget = 1}), 0U);
  AccessTrace endless = substitutable(10);
  endless.samples[1].ends_itself = false;
  EXPECT_EQ(substituted(endless, {.budget = 1}), 0U);
}

TEST(Simulation, TheBudgetHoldsForEachClassAndEpoch) {
  const AccessTrace trace = generate({.samples = 3000, .epochs = 4, .labels = 3});
  const std::uint64_t bytes = trace.total_bytes() / 5;
  const Counts counts = run(trace, "none", bytes, SubstitutionOptions{.budget = 0.1});
  // Three epochs after the first, three labels; the last read of a label need not be one to substitute.
  EXPECT_LE(counts.substituted, 3U * 3U * 100U);
  EXPECT_GT(counts.substituted, 3U * 3U * 98U);
  EXPECT_EQ(counts.hits, run(trace, "none", bytes).hits);
}

TEST(Simulation, ToldProgressAddsUpAndMayEndIt) {
  const AccessTrace trace = generate({.samples = 50'000, .epochs = 4});
  std::uint64_t told = 0;
  const auto next = next_uses(trace.reads);
  simulate(trace, next, {.policy = "lru", .parameters = "", .bytes = 1}, [&](std::uint64_t n) { told += n; });
  EXPECT_EQ(told, trace.reads.size());
  EXPECT_THROW(simulate(trace, next, {.policy = "lru", .parameters = "", .bytes = 1},
                        [](std::uint64_t) { throw 1; }),
               int);
}

TEST(Simulation, RefusesWhatIsNoCachePolicy) {
  const AccessTrace trace = trace_of({1}, {1});
  EXPECT_EQ(refusal_of([&] { run(trace, "iowa", 1); }), "policy must be an eviction policy, got \"iowa\"");
}

// The simulation judges victims one by one.
TEST(Admission, WhoIsRefusedForSomeIsRefusedForMore) {
  Random random(2);
  for (const std::string& policy : kPolicies) {
    const auto admission = make_admission(policy);
    for (int round = 0; round < 500; ++round) {
      std::vector<CachedFacts> leaving(1 + random.below(4));
      for (CachedFacts& one : leaving) one = {.importance = random.unit(), .next_use = random.below(9)};
      const CachedFacts newcomer{.importance = random.unit(), .next_use = random.below(9)};
      if (admission->admits(newcomer, std::span(leaving).first(1))) continue;
      ASSERT_FALSE(admission->admits(newcomer, leaving)) << policy;
    }
  }
}

TEST(AccessTrace, EpochsAreRecognisedWhenAllWasReadOrNearlyAllAndOneComesAgain) {
  const auto ids = [](const std::vector<std::uint64_t>& values) {
    std::vector<SampleId> all;
    for (const std::uint64_t one : values) all.push_back(SampleId{one});
    return all;
  };
  using Starts = std::vector<std::uint64_t>;
  EXPECT_EQ(recognised_epochs(ids({1, 2, 3, 3, 1, 2, 2}), 3), (Starts{3, 6}));
  EXPECT_EQ(recognised_epochs(ids({1, 1, 2, 1, 2}), 3), Starts{});
  EXPECT_EQ(recognised_epochs({}, 0), Starts{});
  AccessTrace trace = generate({.samples = 1000, .epochs = 3});
  EXPECT_EQ(recognised_epochs(trace.reads, 1000), trace.epoch_starts);
  trace.reads.erase(trace.reads.begin() + 500);  // one read was lost
  const auto starts = recognised_epochs(trace.reads, 1000);
  ASSERT_EQ(starts.size(), 2U);
  EXPECT_NEAR(static_cast<double>(starts[0]), 999, 5);
  EXPECT_NEAR(static_cast<double>(starts[1]), 1999, 15);
}

TEST(AccessTrace, GeneratedOnesAreWhatTheirNamesSay) {
  const AccessTrace trace = generate({.samples = 500,
                                      .epochs = 3,
                                      .labels = 7,
                                      .seed = 1,
                                      .least_bytes = 20,
                                      .most_bytes = 110});
  EXPECT_EQ(trace.reads.size(), 1500U);
  EXPECT_EQ(trace.first_reads(), 500U);
  EXPECT_EQ(trace.epoch_starts, (std::vector<std::uint64_t>{500, 1000}));
  EXPECT_FALSE(std::equal(trace.reads.begin(), trace.reads.begin() + 500, trace.reads.begin() + 500));
  std::set<std::uint64_t> sizes;
  for (const TracedSample& one : trace.samples) sizes.insert(one.bytes);
  EXPECT_GE(*sizes.begin(), 20U);
  EXPECT_LE(*sizes.rbegin(), 110U);
  EXPECT_GT(sizes.size(), 80U);
  EXPECT_EQ(generate({.samples = 500, .epochs = 3, .seed = 1}).reads, trace.reads);
  EXPECT_NE(generate({.samples = 500, .epochs = 3, .seed = 2}).reads, trace.reads);

  const AccessTrace zipf = generate({.kind = TraceKind::zipf, .samples = 1000, .epochs = 20});
  std::map<std::uint64_t, int> times;
  for (const SampleId id : zipf.reads) ++times[value(id)];
  EXPECT_NEAR(static_cast<double>(times[1]) / times[2], 2, 0.4);
  EXPECT_NEAR(static_cast<double>(times[1]) / times[10], 10, 3);
}

TEST(AccessTrace, RefusesWhatCannotBeGenerated) {
  EXPECT_EQ(refusal_of([] { generate({.samples = 0}); }), "files must be in [1, 4294967296], got 0");
  EXPECT_EQ(refusal_of([] { generate({.epochs = 0}); }),
            "epochs must be a finite number of at least 1, got 0");
  EXPECT_EQ(refusal_of([] { generate({.least_bytes = 2, .most_bytes = 1}); }),
            "bytes must be a size of at least 1, or two with the lower one first, got 2 to 1");
  EXPECT_EQ(refusal_of([] { parse_trace_kind("x"); }),
            "generate must be one of shuffle, in-order, zipf, got \"x\"");
}

TEST(AccessTrace, TheLowestScoresLoseTheVoteAndNoScoreNever) {
  AccessTrace trace = trace_of({}, {1, 1, 1, 1, 1});
  apply_scores(trace, std::vector<double>{4, NAN, 1, 3, 2}, 0.5);
  std::vector<bool> important;
  std::vector<double> importance;
  for (const TracedSample& one : trace.samples) {
    important.push_back(one.important);
    importance.push_back(one.importance);
  }
  EXPECT_EQ(important, (std::vector<bool>{true, true, false, true, false}));
  EXPECT_EQ(importance, (std::vector<double>{1, 1, 0, 2.0 / 3, 1.0 / 3}));
  EXPECT_FALSE(trace.samples[1].scored);
}

}  // namespace
}  // namespace winnow
