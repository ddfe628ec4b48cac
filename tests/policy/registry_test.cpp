#include "policy/registry.h"

#include <algorithm>
#include <set>

#include "policy/random.h"
#include "tests/policy/refusal.h"

namespace winnow {
namespace {

std::vector<std::string> names_of(std::initializer_list<PolicyKind> kinds) {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : registry()) {
    if (std::find(kinds.begin(), kinds.end(), entry.info.kind) != kinds.end())
      names.push_back(entry.info.name);
  }
  return names;
}

TEST(Registry, EveryPolicyHasOneNameAKindAndAPaper) {
  std::set<std::string> names;
  for (const PolicyEntry& entry : registry()) {
    EXPECT_TRUE(names.insert(entry.info.name).second) << entry.info.name;
    EXPECT_FALSE(entry.info.summary.empty() || entry.info.paper.empty()) << entry.info.name;
    EXPECT_EQ(&find_policy(entry.info.name), &entry);
  }
  EXPECT_EQ(names.size(), 14U);
}

TEST(Registry, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const std::string refused = refusal_of([] { find_policy("fifo"); });
  EXPECT_TRUE(refused.starts_with("policy must be one of uniform, iowa")) << refused;
  EXPECT_TRUE(refused.ends_with("got \"fifo\"")) << refused;
  EXPECT_EQ(refusal_of([] { make_sampler("lru", ""); }),
            "policy must be a sampler or a partition, got \"lru\"");
}

// Every parameter of every policy takes its own default, and refuses nonsense by name.
TEST(Registry, EveryParameterRefusesNonsenseByName) {
  for (const PolicyEntry& entry : registry()) {
    const auto make = [&](const std::string& text) {
      if (entry.sampler) entry.sampler(text);
      if (entry.selector) entry.selector(text);
      if (entry.eviction) entry.eviction(text);
    };
    if (!entry.sampler && !entry.selector && !entry.eviction) continue;
    for (const ParameterInfo& parameter : entry.info.parameters) {
      EXPECT_EQ(refusal_of([&] { make(parameter.name + "=" + parameter.fallback); }), "nothing was refused")
          << parameter.name;
      const std::string refused = refusal_of([&] { make(parameter.name + "=nonsense"); });
      EXPECT_TRUE(refused.starts_with(parameter.name + " must be ") && refused.ends_with("got \"nonsense\""))
          << refused;
    }
  }
}

class SamplerContract : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Registry, SamplerContract,
                         testing::ValuesIn(names_of({PolicyKind::sampler, PolicyKind::partition})));

constexpr Index kSamples = 200;

struct Job {
  explicit Job(const std::string& name, const std::string& parameters = "seed=3")
      : sampler(make_sampler(name, parameters)) {}

  // Trains an epoch with facts that depend on the sample, the epoch and its place, and gives back its order.
  std::vector<Index> train(Index epoch) {
    const std::vector<Index> order = sampler->order(scores, {epoch});
    std::vector<double> loss, p_target, p_other, time, size;
    std::vector<std::uint8_t> correct;
    for (const Index id : order) {
      // A sample drawn twice in an epoch is not seen alike twice: the model has moved on.
      Random random(sub_seed(17, Purpose::controls, epoch, id * 1000 + static_cast<Index>(loss.size())));
      loss.push_back(4 * random.unit());
      p_target.push_back(random.unit());
      p_other.push_back((1 - p_target.back()) * random.unit());
      time.push_back(random.unit());
      size.push_back(1000 * random.unit());
      correct.push_back(random.below(2) == 1);
    }
    scores.report(order, {std::span<const double>(p_target),
                          std::span<const double>(p_other),
                          std::span<const double>(loss),
                          {},
                          std::span<const double>(time),
                          std::span<const double>(size),
                          correct});
    sampler->end_epoch(scores, {.io_wait = 3, .compute = 2});
    return order;
  }

  std::unique_ptr<Sampler> sampler;
  Scores scores{kSamples};
};

TEST_P(SamplerContract, TheFirstEpochTrainsEverythingOnceOrDrawsAsMany) {
  std::vector<Index> order = Job(GetParam()).train(0);
  ASSERT_EQ(order.size(), static_cast<std::size_t>(kSamples));
  if (GetParam() == "online" || GetParam() == "active_bias") return;
  std::sort(order.begin(), order.end());
  for (Index i = 0; i < kSamples; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_P(SamplerContract, TheSameSeedGivesTheSameRunAndAnotherDoesNot) {
  Job first(GetParam()), second(GetParam()), other(GetParam(), "seed=4");
  bool differs = false;
  for (Index epoch = 0; epoch < 15; ++epoch) {
    const std::vector<Index> order = first.train(epoch);
    ASSERT_EQ(order, second.train(epoch));
    differs |= order != other.train(epoch);
  }
  EXPECT_TRUE(differs);
}

TEST_P(SamplerContract, ASavedRunGoesOnAlike) {
  Job first(GetParam()), second(GetParam());
  for (Index epoch = 0; epoch < 12; ++epoch) first.train(epoch);
  StateWriter state;
  first.sampler->save(state);
  first.scores.save(state);
  StateReader reader(state.bytes());
  second.sampler->load(reader);
  second.scores.load(reader);
  reader.close();
  for (Index epoch = 12; epoch < 20; ++epoch) ASSERT_EQ(first.train(epoch), second.train(epoch));
}

TEST_P(SamplerContract, WorkersShareAnEpochEqually) {
  Job job(GetParam());
  for (Index epoch = 0; epoch < 11; ++epoch) job.train(epoch);
  std::vector<Index> whole = job.sampler->order(job.scores, {11, {0, 1}, Equalise::none}), together;
  for (Index worker = 0; worker < 7; ++worker) {
    const std::vector<Index> part = job.sampler->order(job.scores, {11, {worker, 7}, Equalise::none});
    together.insert(together.end(), part.begin(), part.end());
    EXPECT_EQ(job.sampler->order(job.scores, {11, {worker, 7}, Equalise::pad}).size(),
              (whole.size() + 6) / 7);
  }
  std::sort(whole.begin(), whole.end());
  std::sort(together.begin(), together.end());
  EXPECT_EQ(together, whole);
  EXPECT_EQ(refusal_of([&] {
              job.sampler->order(job.scores, {11, {0, 0}});
            }).substr(0, 33),
            "workers must be an integer in [1,");
}

class SelectorContract : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Registry, SelectorContract, testing::ValuesIn(names_of({PolicyKind::selector})));

std::vector<double> losses(int step) {
  Random random(static_cast<std::uint64_t>(step));
  std::vector<double> loss(64);
  for (double& one : loss) one = 3 * random.unit();
  return loss;
}

TEST_P(SelectorContract, ASavedRunGoesOnAlikeAndKeepsPositionsOfTheBatch) {
  const auto first = make_selector(GetParam(), "seed=1"), second = make_selector(GetParam(), "seed=1");
  for (int step = 0; step < 10; ++step) first->select({losses(step)});
  StateWriter state;
  first->save(state);
  StateReader reader(state.bytes());
  second->load(reader);
  reader.close();
  for (int step = 10; step < 20; ++step) {
    const Selection expected = first->select({losses(step)});
    const Selection& got = second->select({losses(step)});
    ASSERT_EQ(got.kept, expected.kept);
    ASSERT_EQ(got.due_after, expected.due_after);
    ASSERT_TRUE(std::is_sorted(got.kept.begin(), got.kept.end()));
    ASSERT_TRUE(got.kept.empty() || (got.kept.front() >= 0 && got.kept.back() < 64));
    ASSERT_LE(got.due_after, static_cast<Index>(got.kept.size()));
  }
}

// From stored values on, what uses only + − × ÷ and comparisons is the same on every machine: a whole run of
// IOWA by loss and io, as one number.
TEST(Determinism, ARunByLossAndIoIsTheSameEverywhere) {
  Job job("iowa", "seed=3 criteria=loss+io gamma=0.9 k=1");
  std::uint64_t digest = 0;
  for (Index epoch = 0; epoch < 20; ++epoch) {
    for (const Index id : job.train(epoch)) digest = splitmix64(digest ^ static_cast<std::uint64_t>(id));
  }
  EXPECT_EQ(digest, 2998553432350923341U);
}

}  // namespace
}  // namespace winnow
