#include "policy/partition.h"

#include <algorithm>
#include <numeric>

#include "policy/dpt_sampler.h"
#include "policy/importance.h"
#include "policy/rank_order.h"
#include "tests/policy/refusal.h"

namespace winnow {
namespace {

using Ids = std::vector<Index>;

Ids counted(Index n) {
  Ids ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), Index{0});
  return ids;
}

// Figure 4 of the DPT paper: eight examples, four workers.
TEST(Partition, ReproducesThePapersFigure) {
  const std::vector<double> importance{8, 7, 6, 5, 4, 3, 2, 1};
  const Ids order = rank_descending(importance);
  const std::vector<Ids> stripes{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, blocks{{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  for (Index worker = 0; worker < 4; ++worker) {
    EXPECT_EQ(part_of(order, Layout::stripes, {worker, 4}, Equalise::none),
              stripes[static_cast<std::size_t>(worker)]);
    EXPECT_EQ(part_of(order, Layout::blocks, {worker, 4}, Equalise::none),
              blocks[static_cast<std::size_t>(worker)]);
  }
}

TEST(Partition, IsAnExactCoverWhoseLengthsDifferByAtMostOne) {
  for (const Layout layout : {Layout::stripes, Layout::blocks, Layout::random}) {
    for (Index samples = 1; samples <= 40; ++samples) {
      for (Index workers = 1; workers <= samples; ++workers) {
        Ids together;
        std::size_t shortest = 1000, longest = 0;
        for (Index worker = 0; worker < workers; ++worker) {
          const Ids part = part_of(counted(samples), layout, {worker, workers}, Equalise::none);
          together.insert(together.end(), part.begin(), part.end());
          shortest = std::min(shortest, part.size());
          longest = std::max(longest, part.size());
          ASSERT_EQ(part_of(counted(samples), layout, {worker, workers}, Equalise::drop).size(),
                    static_cast<std::size_t>(samples / workers));
          ASSERT_EQ(part_of(counted(samples), layout, {worker, workers}, Equalise::pad).size(),
                    static_cast<std::size_t>((samples + workers - 1) / workers));
        }
        std::sort(together.begin(), together.end());
        ASSERT_EQ(together, counted(samples));
        ASSERT_LE(longest - shortest, 1U);
      }
    }
  }
}

TEST(Partition, RefusesWorkersThatCannotBe) {
  const auto refused = [](Index worker, Index workers) {
    return refusal_of([&] { part_of(counted(3), Layout::stripes, {worker, workers}, Equalise::pad); });
  };
  EXPECT_EQ(refused(0, 0), "workers must be an integer in [1, 3], the number of samples, got 0");
  EXPECT_EQ(refused(0, 4), "workers must be an integer in [1, 3], the number of samples, got 4");
  EXPECT_EQ(refused(3, 3), "worker must be in [0, 3), got 3");
}

RunningMean history(std::initializer_list<double> losses) {
  RunningMean mean;
  for (const double loss : losses) mean.add(loss);
  return mean;
}

std::vector<double> renewed(Measure measure, std::vector<double> importance,
                            const std::vector<RunningMean>& histories) {
  renew_importance(importance, measure, [&](Index i) { return histories[static_cast<std::size_t>(i)]; });
  return importance;
}

TEST(Importance, WithoutALossKeepsWhatItHasOrTakesTheMean) {
  EXPECT_EQ(renewed(Measure::average, {NAN, 5, NAN}, {history({1, 2}), {}, {}}),
            (std::vector<double>{1.5, 5, 3.25}));
  EXPECT_EQ(renewed(Measure::average, {NAN, NAN}, {{}, {}}), (std::vector<double>{0, 0}));
}

TEST(Importance, VarianceFallsBackOnlyIfNobodyHasMoreThanOneLoss) {
  EXPECT_EQ(renewed(Measure::variance, {NAN, NAN}, {history({3}), history({4})}),
            (std::vector<double>{3, 4}));
  EXPECT_EQ(renewed(Measure::variance, {NAN, NAN}, {history({1, 3}), history({4})}),
            (std::vector<double>{1, 1}));
}

// Runs epochs in which every sample's loss is `loss(sample, epoch)`, and gives back worker 0's sorted parts.
std::vector<Ids> parts(const DptOptions& options, Index epochs, double (*loss)(Index, Index)) {
  DptSampler sampler(options);
  Scores scores(12);
  std::vector<Ids> made;
  for (Index epoch = 0; epoch < epochs; ++epoch) {
    Ids part = sampler.order(scores, {epoch, {0, 3}});
    std::sort(part.begin(), part.end());
    made.push_back(part);
    const Ids ids = counted(12);
    std::vector<double> losses;
    for (const Index id : ids) losses.push_back(loss(id, epoch));
    scores.report(ids, {.loss = std::span<const double>(losses)});
    sampler.end_epoch(scores, {});
  }
  return made;
}

TEST(DptSampler, IgnoresTheFirstLossesAndKeepsAPartitionForAnInterval) {
  DptOptions options;
  options.warmup_epochs = 3;
  options.ignore_epochs = 1;
  options.interval_epochs = 2;
  options.layout = Layout::blocks;
  // The ignored epoch would turn the order round; so would every interval after the first.
  const auto loss = [](Index id, Index epoch) {
    return epoch == 0 ? 1e6 * static_cast<double>(12 - id) : static_cast<double>(epoch < 3 ? id : 12 - id);
  };
  const std::vector<Ids> made = parts(options, 7, loss);
  EXPECT_NE(made[0], made[1]);
  EXPECT_EQ(made[3], (Ids{8, 9, 10, 11}));
  EXPECT_EQ(made[4], made[3]);
  EXPECT_EQ(made[5], (Ids{0, 1, 2, 3}));
  EXPECT_EQ(made[6], made[5]);
}

TEST(DptSampler, ARandomLayoutStaysForAnIntervalToo) {
  DptOptions options;
  options.warmup_epochs = 1;
  options.ignore_epochs = 0;
  options.interval_epochs = 2;
  options.layout = Layout::random;
  const std::vector<Ids> made = parts(options, 5, [](Index id, Index) { return static_cast<double>(id); });
  EXPECT_EQ(made[1], made[2]);
  EXPECT_EQ(made[3], made[4]);
  EXPECT_NE(made[2], made[3]);
}

TEST(DptSampler, TheWarmUpMustBeLongerThanWhatItIgnores) {
  DptOptions options;
  options.warmup_epochs = 5;
  EXPECT_EQ(refusal_of([&] { DptSampler{options}; }),
            "warmup_epochs must be more than ignore_epochs (5), got 5");
}

}  // namespace
}  // namespace winnow
