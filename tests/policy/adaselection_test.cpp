#include "policy/adaselection.h"

#include <algorithm>
#include <cmath>

#include "policy/biggest_loser.h"
#include "policy/draw_weights.h"
#include "policy/weighted_draw.h"
#include "tests/policy/refusal.h"

namespace winnow {
namespace {

using Ids = std::vector<Index>;
using Doubles = std::vector<double>;

const Doubles kLoss{0.1, 5.0, 1.0, 3.0, 0.2, 1.1, 0.9, 4.0};
const Doubles kGrad{0.8, 0.1, 0.7, 0.2, 0.6, 0.3, 0.5, 0.4};
const Doubles kDraws{0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6};

Ids alone(Method method, double rate = 0.5) {
  AdaSelectionOptions options;
  options.methods = {method};
  options.rate = rate;
  AdaSelection selector(options);
  selector.select({kLoss, kGrad, kDraws});
  return selector.detail().method_selection[0];
}

TEST(AdaSelection, EveryMethodAloneSelectsWhatItsTableSays) {
  EXPECT_EQ(alone(Method::uniform), (Ids{1, 3, 5, 7}));
  EXPECT_EQ(alone(Method::big_loss), (Ids{1, 3, 5, 7}));
  EXPECT_EQ(alone(Method::small_loss), (Ids{0, 2, 4, 6}));
  EXPECT_EQ(alone(Method::grad_norm), (Ids{0, 2, 4, 6}));
  EXPECT_EQ(alone(Method::adaboost), (Ids{1, 3, 5, 7}));
  EXPECT_EQ(alone(Method::coreset1, 0.6), (Ids{0, 1, 3, 4, 7}));  // three from the top, two from the bottom
  EXPECT_EQ(alone(Method::coreset2), (Ids{2, 3, 5, 6}));          // the mean is 1.9125
}

TEST(Largest, EqualsASortForAnyValuesAndTies) {
  Random random(3);
  for (int run = 0; run < 300; ++run) {
    Doubles values(1 + random.below(60));
    for (double& one : values) one = std::floor(random.unit() * (run % 2 == 0 ? 5 : 1e6));
    if (run % 3 == 0) std::sort(values.begin(), values.end());
    const auto k = static_cast<Index>(random.below(values.size() + 1));
    Ids expected(values.size()), selected;
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<Index>(i);
    std::stable_sort(expected.begin(), expected.end(), [&](Index a, Index b) {
      return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
    });
    expected.resize(static_cast<std::size_t>(k));
    std::sort(expected.begin(), expected.end());
    largest(values, k, selected);
    ASSERT_EQ(selected, expected);
  }
}

TEST(AdaSelection, WeightsAndRatingsSumToOne) {
  AdaSelectionOptions options;
  options.methods = {Method::uniform,  Method::big_loss, Method::small_loss, Method::grad_norm,
                     Method::adaboost, Method::coreset1, Method::coreset2};
  AdaSelection selector(options);
  Random random(1);
  for (int step = 0; step < 50; ++step) {
    Doubles loss(32), grad(32);
    for (double& one : loss) one = -std::log(1 - random.unit());
    for (double& one : grad) one = random.unit();
    selector.select({loss, grad});
    double total = 0;
    for (const double weight : selector.detail().weights) {
      EXPECT_GE(weight, 0.1 / 7);
      total += weight;
    }
    EXPECT_NEAR(total, 1, 1e-12);
    for (const Doubles& alpha : selector.detail().alpha) {
      double sum = 0;
      for (const double one : alpha) sum += one;
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
}

TEST(AdaSelection, KeptSamplesAccumulateToFullBatches) {
  AdaSelectionOptions options;
  options.batch = 8;
  options.rate = 0.6;  // five of eight
  AdaSelection selector(options);
  Ids due;
  for (int step = 0; step < 5; ++step) due.push_back(selector.select({kLoss}).due_after);
  EXPECT_EQ(due, (Ids{0, 3, 0, 1, 4}));  // carried over: 5, 2, 7, 4, 1
  EXPECT_EQ(selector.carry(), 1);
}

TEST(AdaSelection, TheFirstBatchSetsTheNominalSize) {
  AdaSelection selector(AdaSelectionOptions{});
  selector.select({kLoss});
  const Doubles more(9, 1.0);
  EXPECT_EQ(refusal_of([&] { selector.select({more}); }),
            "loss must be at most 8 values, the nominal batch, got 9");
}

TEST(AdaSelection, RefusesWhatItCannotUse) {
  const auto refused = [](const AdaSelectionOptions& options) {
    return refusal_of([&] { AdaSelection{options}; });
  };
  EXPECT_EQ(refused({.rate = 0}), "rate must be in (0, 1], got 0");
  EXPECT_EQ(refused({.beta = -2}), "beta must be in [-1, 1], got -2");
  EXPECT_EQ(refused({.methods = {}}),
            "methods must be at least one of uniform, big_loss, small_loss, grad_norm, adaboost, coreset1, "
            "coreset2, got none");
  AdaSelection selector({.methods = {Method::grad_norm}});
  const Doubles negative{-1, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(refusal_of([&] { selector.select({{}}); }), "loss must be at least 1 value, got an empty batch");
  EXPECT_EQ(refusal_of([&] { selector.select({kLoss}); }), "grad must have 8 values, got 0");
  EXPECT_EQ(refusal_of([&] {
              selector.select({kLoss, negative});
            }),
            "grad of sample 0 must be a finite number of at least 0, got -1");
}

TEST(BiggestLoser, TheBatchEntersTheWindowFirst) {
  BiggestLoser selector({.window = 4});
  const Doubles low{1, 2, 3, 4}, high{8}, never{0, 0, 0, 0}, always{0.99};
  EXPECT_EQ(selector.select({low, {}, never}).kept, (Ids{0, 1, 2, 3}));
  EXPECT_EQ(selector.probability(), (Doubles{0.0625, 0.25, 0.5625, 1}));
  EXPECT_EQ(selector.select({high, {}, always}).kept, (Ids{0}));
  EXPECT_EQ(refusal_of([&] { selector.select({{}}); }), "loss must be at least 1 value, got an empty batch");
}

TEST(Online, ProbabilitiesSumToOneAndFollowTheRank) {
  Random random(4);
  Doubles loss(500);
  for (double& one : loss) one = random.unit();
  loss[17] = NAN;
  for (const double pressure : {1.0, 10.0, 100.0}) {
    const Doubles probability = online_probabilities(loss, pressure);
    double total = 0;
    for (const double one : probability) total += one;
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_EQ(std::max_element(probability.begin(), probability.end()) - probability.begin(),
              pressure == 1 ? 0 : 17);
  }
  EXPECT_EQ(refusal_of([] { online_pressure({.epoch = 3, .epochs = 3}); }), "epoch must be in [0, 3), got 3");
}

TEST(WeightedDraw, DrawsInProportionAndNeverWhatHasNoWeight) {
  const Doubles weights{1, 0, 3};
  Random random(9);
  const std::vector<Index> drawn = WeightedDraw(weights).draw(40000, random);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 1), 0);
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), 2)), 30000, 500);
  EXPECT_EQ(refusal_of([] {
              WeightedDraw(Doubles{0, 0});
            }),
            "total weight must be a finite number above 0, got 0");
  EXPECT_EQ(refusal_of([] {
              WeightedDraw(Doubles{1, -1});
            }),
            "weight of sample 1 must be a finite number of at least 0, got -1");
}

}  // namespace
}  // namespace winnow
