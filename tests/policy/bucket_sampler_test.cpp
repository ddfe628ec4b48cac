#include "policy/bucket_sampler.h"

#include <algorithm>
#include <cmath>

#include "policy/random.h"
#include "tests/policy/refusal.h"

namespace winnow {
namespace {

// Buckets with one column of scores in each criterion asked for, which a test may change between epochs.
struct Training {
  Training(Index samples, const BucketOptions& options)
      : buckets(samples), sampler(options), scores(static_cast<std::size_t>(samples), 1.0) {}

  EpochEnd end(std::optional<double> accuracy, OutOrder order = OutOrder::worst_first) {
    for (const Index sample : buckets.in_process()) buckets.mark_trained(sample);
    return end_untrained(accuracy, order);
  }
  EpochEnd end_untrained(std::optional<double> accuracy, OutOrder order = OutOrder::worst_first) {
    const Criterion criterion = Criterion::loss;
    const auto scores_of = [&](Criterion) -> std::span<const double> {
      column = scores;
      for (const Index sample : buckets.waiting()) column[static_cast<std::size_t>(sample)] = NAN;
      return column;
    };
    return sampler.end_epoch(buckets, {&criterion, 1}, scores_of, accuracy, order);
  }

  Buckets buckets;
  BucketSampler sampler;
  std::vector<double> scores;
  std::vector<double> column;
};

BucketOptions quick() {
  BucketOptions options;
  options.profile_epochs = 1;
  options.gamma = 1;
  options.min_in_process = 0;
  return options;
}

TEST(BucketSampler, NobodyLeavesWhileProfiling) {
  BucketOptions options = quick();
  options.profile_epochs = 3;
  Training run(4, options);
  run.scores = {1, 2, 3, 4};
  EXPECT_TRUE(run.end(0.1).out.empty());
  EXPECT_TRUE(run.end(0.2).out.empty());
  EXPECT_EQ(run.end(0.3).out, (std::vector<Index>{0, 1}));
}

TEST(BucketSampler, TheFloorKeepsTheBestOfTheLosers) {
  BucketOptions options = quick();
  options.min_in_process = 0.7;
  Training run(10, options);
  run.scores = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_EQ(run.end(0.1).out, (std::vector<Index>{9, 8, 7}));
}

TEST(BucketSampler, WithoutAnOrderTheSameLeaveInOrderOfId) {
  BucketOptions options = quick();
  options.min_in_process = 0.7;
  Training run(10, options);
  run.scores = {0, 8, 7, 6, 5, 4, 3, 2, 1, 9};
  EXPECT_EQ(run.end(0.1, OutOrder::any).out, (std::vector<Index>{0, 7, 8}));
}

TEST(BucketSampler, RecallsHalfOfTheWaitingBucketAfterThreeFlatEpochs) {
  Training run(9, quick());
  run.scores = {1, 2, 3, 4, 9, 9, 9, 9, 9};
  EXPECT_EQ(run.end(0.5).out.size(), 4U);
  run.scores.assign(9, 9);
  EXPECT_FALSE(run.end(0.5).plateau);
  EXPECT_FALSE(run.end(0.5).plateau);
  const EpochEnd end = run.end(0.5);
  EXPECT_TRUE(end.plateau);
  EXPECT_EQ(end.recalled.size(), 2U);
  EXPECT_EQ(run.buckets.waiting_count(), 2);
}

TEST(BucketSampler, AnEpochThatTrainedNothingIsNotTested) {
  Training run(9, quick());
  run.end(0.5);
  run.end(0.5);
  run.end(0.5);
  EXPECT_FALSE(run.end(std::nullopt).plateau);
  EXPECT_TRUE(run.end(0.5).plateau);
}

TEST(BucketSampler, WithoutRecallThePlateauIsStillReported) {
  BucketOptions options = quick();
  options.recall = false;
  options.k = 1;
  Training run(4, options);
  run.scores = {1, 2, 3, 4};
  run.end(0.5);
  const EpochEnd end = run.end(0.5);
  EXPECT_TRUE(end.plateau);
  EXPECT_TRUE(end.recalled.empty());
}

TEST(BucketSampler, ARecalledSampleCannotLeaveBeforeItWasTrained) {
  BucketOptions options = quick();
  options.k = 1;
  options.recall_fraction = 1;
  Training run(4, options);
  run.scores = {1, 9, 9, 9};
  EXPECT_EQ(run.end(0.5).out, (std::vector<Index>{0}));
  EXPECT_EQ(run.end_untrained(0.5).recalled, (std::vector<Index>{0}));
  EXPECT_TRUE(run.end_untrained(0.9).out.empty());
  run.buckets.mark_trained(0);
  EXPECT_EQ(run.end_untrained(0.99).out, (std::vector<Index>{0}));
}

TEST(BucketSampler, ExpensiveSamplesMustBeMoreImportantToStay) {
  BucketOptions options = quick();
  options.io_weight = 1;
  options.gamma_io = 0;
  Buckets buckets(4);
  BucketSampler sampler(options);
  const std::vector<double> entropy{1, 1, 1, 1}, io{1, 0.5, 2, NAN};
  const Criterion criteria[] = {Criterion::entropy, Criterion::margin, Criterion::io};
  const auto scores_of = [&](Criterion c) -> std::span<const double> {
    return c == Criterion::io ? io : entropy;
  };
  EXPECT_EQ(sampler.end_epoch(buckets, criteria, scores_of, 0.5).out, (std::vector<Index>{1}));
}

// Random scores and accuracies: the buckets stay a partition, and nobody misses more recalls than the bound.
TEST(BucketSampler, NeverLosesASampleAndNobodyMissesTooManyRecalls) {
  for (const double fraction : {0.1, 0.5}) {
    BucketOptions options = quick();
    options.k = 1;
    options.recall_fraction = fraction;
    options.min_in_process = 0.1;
    constexpr Index kSamples = 300;
    Training run(kSamples, options);
    Random random(11);
    const double bound = 8 + std::log(kSamples) / -std::log(1 - fraction) + 1;
    for (int epoch = 0; epoch < 400; ++epoch) {
      for (double& score : run.scores) score = random.unit();
      const EpochEnd end = run.end(random.unit() * 0.5);
      const std::vector<Index> in = run.buckets.in_process(), out = run.buckets.waiting();
      std::vector<Index> all;
      std::merge(in.begin(), in.end(), out.begin(), out.end(), std::back_inserter(all));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(kSamples));
      ASSERT_TRUE(std::adjacent_find(all.begin(), all.end()) == all.end());
      ASSERT_EQ(run.buckets.waiting_count(), static_cast<Index>(out.size()));
      ASSERT_GE(in.size(), 30U);
      for (const Index sample : out) ASSERT_LE(run.buckets.missed(sample), bound);
      for (const Index sample : end.recalled) ASSERT_FALSE(run.buckets.waiting(sample));
    }
  }
}

TEST(BucketSampler, TheSameSeedRecallsTheSameSamplesAndAnotherDoesNot) {
  const auto recalled = [](std::uint64_t seed) {
    BucketOptions options = quick();
    options.k = 1;
    options.seed = seed;
    Training run(100, options);
    for (std::size_t i = 0; i < 100; ++i) run.scores[i] = static_cast<double>(i % 10);
    run.end(0.5);
    return run.end(0.5).recalled;
  };
  EXPECT_EQ(recalled(1), recalled(1));
  EXPECT_NE(recalled(1), recalled(2));
}

TEST(BucketSampler, RefusesWhatItCannotUse) {
  BucketOptions options;
  options.recall_fraction = 0;
  EXPECT_EQ(refusal_of([&] { BucketSampler{options}; }), "recall_fraction must be in (0, 1], got 0");
  options = {};
  options.k = 0;
  EXPECT_EQ(refusal_of([&] { BucketSampler{options}; }), "k must be an integer of at least 1, got 0");
  Training run(3, quick());
  EXPECT_EQ(refusal_of([&] { run.end(1.5); }), "accuracy must be in [0, 1], got 1.5");
  run.scores.resize(2);
  EXPECT_EQ(refusal_of([&] { run.end(0.5); }), "loss must have 3 values, got 2");
}

}  // namespace
}  // namespace winnow
