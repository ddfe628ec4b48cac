#include "policy/scores.h"

#include <cmath>

#include "tests/policy/refusal.h"

namespace winnow {
namespace {

using Doubles = std::vector<double>;

Values values(const Doubles& numbers) { return std::span<const double>(numbers); }

TEST(Scores, TakeAtMostSixtyFourBytesASample) { EXPECT_LE(Scores::kBytesPerSample, 64U); }

TEST(Scores, KeepTheLastValueUntilASampleIsSeenAgain) {
  Scores scores(3);
  const Doubles first{0.5, 0.25}, second{0.75};
  const std::vector<Index> both{0, 1}, one{1};
  scores.report(both, {.loss = values(first)});
  scores.report(one, {.loss = values(second)});
  Doubles column;
  scores.criterion(Criterion::loss, column);
  EXPECT_EQ(column[0], 0.5);
  EXPECT_EQ(column[1], 0.75);
  EXPECT_TRUE(std::isnan(column[2]));
}

TEST(Scores, EntropyComesFromTheLossWhereItIsCrossEntropy) {
  const Doubles p{0.999999999}, loss{1e-9};
  const std::vector<Index> id{0};
  Scores declared(1, {.cross_entropy = true}), plain(1);
  declared.report(id, {.p_target = values(p), .loss = values(loss)});
  plain.report(id, {.p_target = values(p), .loss = values(loss)});
  Doubles column;
  declared.criterion(Criterion::entropy, column);
  EXPECT_NEAR(column[0], 1.44269504e-9, 1e-15);
  plain.criterion(Criterion::entropy, column);
  EXPECT_EQ(column[0], 0);  // what single precision makes of it
}

TEST(Scores, IoIsRelativeToTheMeansOfFetchedSamples) {
  Scores scores(3);
  const Doubles time{1, 3}, size{100, 100};
  const std::vector<Index> ids{0, 2};
  scores.report(ids, {.load_time = values(time), .size = values(size)});
  Doubles column;
  scores.criterion(Criterion::io, column);
  EXPECT_DOUBLE_EQ(column[0], 1 / (0.5 * 0.5 + 0.5));
  EXPECT_TRUE(std::isnan(column[1]));
  EXPECT_DOUBLE_EQ(column[2], 1 / (0.5 * 1.5 + 0.5));
}

TEST(Scores, HistoriesHoldMeanAndVariance) {
  Scores scores(1);
  const std::vector<Index> id{0};
  for (const double p : {0.25, 0.75}) {
    const Doubles one{p}, loss{p * 4};
    scores.report(id, {.p_target = values(one), .loss = values(loss)});
  }
  EXPECT_EQ(scores.p_target_history(0).variance(), 0.0625);
  EXPECT_EQ(scores.loss_history(0).mean, 2);
  EXPECT_EQ(scores.loss_history(0).variance(), 1);
  scores.forget_losses();
  EXPECT_EQ(scores.loss_history(0).count, 0U);
}

TEST(Scores, AccuracyIsOfTrainingEventsSinceItWasTaken) {
  Scores scores(4);
  const std::vector<Index> ids{0, 1, 1, 2};
  const std::vector<std::uint8_t> correct{1, 0, 1, 1};
  scores.report(ids, {.correct = correct});
  EXPECT_EQ(scores.take_accuracy(), 0.75);
  EXPECT_EQ(scores.take_accuracy(), std::nullopt);
  scores.report(ids, {.correct = correct, .trained = false});
  EXPECT_EQ(scores.take_accuracy(), std::nullopt);
}

TEST(Scores, RefuseBadFactsNamingTheSampleAndTheField) {
  Scores scores(9, {.cross_entropy = true});
  const std::vector<Index> ids{7, 8};
  const auto refused = [&](const FactColumns& facts) {
    return refusal_of([&] { scores.report(ids, facts); });
  };
  const Doubles nan{0, NAN}, negative{0, -1}, large{0.5, 1.25}, high{0.5, 0.8}, one{1};
  EXPECT_EQ(refused({.loss = values(nan)}),
            "loss of sample 8 must be a finite number of at least 0, got nan");
  EXPECT_EQ(refused({.loss = values(negative)}),
            "loss of sample 8 must be a finite number of at least 0, got -1");
  EXPECT_EQ(refused({.size = values(negative)}),
            "size of sample 8 must be a finite number of at least 0, got -1");
  EXPECT_EQ(refused({.load_time = values(negative)}),
            "load_time of sample 8 must be a finite number of at least 0, got -1");
  EXPECT_EQ(refused({.p_target = values(large)}), "p_target of sample 8 must be in [0, 1], got 1.25");
  EXPECT_EQ(refused({.p_target = values(high), .p_other = values(high)}),
            "p_target + p_other of sample 8 must be at most 1, got 1.6");
  EXPECT_EQ(refused({.p_other = values(high)}),
            "p_other must be given together with p_target, got p_other alone");
  EXPECT_EQ(refused({.loss = values(one)}), "loss must have 2 values, got 1");
  const std::vector<std::uint8_t> two{0, 2};
  EXPECT_EQ(refused({.correct = two}), "correct of sample 8 must be 0 or 1, got 2");
  const std::vector<Index> outside{9};
  EXPECT_EQ(refusal_of([&] { scores.report(outside, {}); }), "id must be in [0, 9), got 9");
  EXPECT_EQ(refusal_of([] { Scores(0); }), "samples must be a finite number of at least 1, got 0");
}

TEST(Scores, ARefusedReportChangesNothing) {
  Scores scores(2);
  const std::vector<Index> ids{0, 1};
  const Doubles loss{0.5, INFINITY};
  EXPECT_NE(refusal_of([&] { scores.report(ids, {.loss = values(loss)}); }), "nothing was refused");
  EXPECT_TRUE(std::isnan(scores.loss(0)));
}

TEST(Scores, SavedAndLoadedTheyAreTheSame) {
  Scores scores(5), other(5);
  const std::vector<Index> ids{1, 3};
  const Doubles loss{0.5, 2}, p{0.1, 0.2};
  const std::vector<std::uint8_t> correct{1, 0};
  scores.report(ids, {.p_target = values(p), .loss = values(loss), .correct = correct});
  scores.buckets().move_out(4);
  scores.importance()[2] = 7;
  StateWriter first, second;
  scores.save(first);
  StateReader reader(first.bytes());
  other.load(reader);
  reader.close();
  other.save(second);
  EXPECT_EQ(first.bytes(), second.bytes());
  EXPECT_TRUE(other.buckets().waiting(4));
  EXPECT_EQ(other.take_accuracy(), 0.5);
}

TEST(State, OfAnotherSizeOrCutShortIsRefused) {
  Scores five(5), six(6);
  StateWriter state;
  five.save(state);
  EXPECT_EQ(refusal_of([&] {
              StateReader reader(state.bytes());
              six.load(reader);
            }),
            "state must be of 6 samples, got 5");
  const std::string_view cut = std::string_view(state.bytes()).substr(0, 60);
  EXPECT_EQ(refusal_of([&] {
              StateReader reader(cut);
              five.load(reader);
            }),
            "state must be as long as it was saved, got a shorter one");
}

}  // namespace
}  // namespace winnow
