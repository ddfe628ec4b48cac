// policy_bench [SAMPLES [PART]]: how long the decisions take at scale, as a table. PART is epoch, partition,
// stars, selector or scores; all but `scores` by default. Not a test: nothing here fails.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "policy/adaselection.h"
#include "policy/dpt_sampler.h"
#include "policy/iowa_sampler.h"
#include "policy/rank_order.h"
#include "policy/star_clustering.h"

namespace winnow {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void row(const std::string& what, std::vector<double> times, const char* note) {
  std::sort(times.begin(), times.end());
  std::printf("| %-58s | %10.2f | %10.2f | %s |\n", what.c_str(), times[times.size() / 2], times.front(),
              note);
  std::fflush(stdout);
}

struct FactArrays {
  std::vector<Index> ids;
  std::vector<float> loss, p_target, p_other, load_time, size;
};

// Losses over four decades, as in training that is well under way.
FactArrays made_facts(Index samples) {
  FactArrays facts;
  Random random(7);
  for (Index i = 0; i < samples; ++i) {
    const double loss = std::pow(10, -3.5 + 4 * random.unit());
    const double p = std::exp(-loss);
    facts.ids.push_back(i);
    facts.loss.push_back(static_cast<float>(loss));
    facts.p_target.push_back(static_cast<float>(p));
    facts.p_other.push_back(static_cast<float>((1 - p) * random.unit() * 0.9));
    facts.load_time.push_back(static_cast<float>(0.01 * -std::log(1 - random.unit())));
    facts.size.push_back(static_cast<float>(50000 + 100000 * random.unit()));
  }
  return facts;
}

void report_all(Scores& scores, const FactArrays& facts) {
  FactColumns columns{std::span(facts.p_target),  std::span(facts.p_other), std::span(facts.loss), {},
                      std::span(facts.load_time), std::span(facts.size)};
  scores.report(facts.ids, columns);
}

void bench_epoch_end(Index samples) {
  const FactArrays facts = made_facts(samples);
  for (const bool cross_entropy : {true, false}) {
    for (const OutOrder order : {OutOrder::any, OutOrder::worst_first}) {
      std::vector<double> times;
      std::size_t out = 0;
      for (int run = 0; run < 9; ++run) {
        Scores scores(samples, {.cross_entropy = cross_entropy});
        report_all(scores, facts);
        IowaOptions options;
        options.profile_epochs = 1;
        options.criteria = {Criterion::entropy, Criterion::margin, Criterion::io};
        IowaSampler sampler(options);
        sampler.set_out_order(order);
        times.push_back(milliseconds([&] { out = sampler.end_epoch(scores, {}).buckets.out.size(); }));
      }
      const std::string what = std::string("epoch end, three criteria, entropy from ") +
                               (cross_entropy ? "loss" : "p_target") +
                               (order == OutOrder::worst_first ? ", ordered" : "");
      row(what, times, ("ms; " + std::to_string(out) + " leave").c_str());
    }
  }
}

void bench_partition(Index samples) {
  Random random(3);
  std::vector<double> importance(static_cast<std::size_t>(samples));
  for (double& one : importance) one = -std::log(1 - random.unit());
  for (const Layout layout : {Layout::stripes, Layout::blocks, Layout::random}) {
    std::vector<double> times;
    for (int run = 0; run < 5; ++run) {
      times.push_back(milliseconds([&] {
        const std::vector<Index> order =
            layout == Layout::random ? shuffled_indices(samples, 1) : rank_descending(importance);
        for (Index worker = 0; worker < 8; ++worker) part_of(order, layout, {worker, 8}, Equalise::pad);
      }));
    }
    row("partition into 8, " + layout_names()[static_cast<std::size_t>(layout)], times, "ms");
  }
}

std::vector<std::uint64_t> clustered(Index count, Index centres, int flips, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> middle;
  for (Index i = 0; i < centres; ++i) middle.push_back(random.next());
  std::vector<std::uint64_t> hashes;
  for (Index i = 0; i < count; ++i) {
    std::uint64_t hash = middle[random.below(middle.size())];
    for (int f = 0; f < flips; ++f) hash ^= std::uint64_t{1} << random.below(64);
    hashes.push_back(hash);
  }
  return hashes;
}

void bench_stars() {
  constexpr Index kHashes = 1'000'000;
  const auto one = [&](const std::string& what, const std::vector<std::uint64_t>& hashes) {
    std::size_t groups = 0;
    const double time = milliseconds([&] {
      const auto stars = cluster_stars(hashes, 8, 8);
      for (std::size_t i = 0; i < stars.size(); ++i) groups += stars[i] == i;
    });
    row("stars of 1,000,000 hashes, " + what, {time}, ("ms; " + std::to_string(groups) + " groups").c_str());
  };
  one("uniformly random", clustered(kHashes, kHashes, 64, 1));
  one("all equal", std::vector<std::uint64_t>(kHashes, 42));
  for (const Index centres : {1, 10, 1000, 100000}) {
    for (const int flips : {3, 6, 12, 18}) {
      one(std::to_string(centres) + " centres, " + std::to_string(flips) + " flips",
          clustered(kHashes, centres, flips, 2));
    }
  }
}

void bench_selector() {
  Random random(5);
  std::vector<double> loss(1024), grad(1024);
  for (double& value : loss) value = -std::log(1 - random.unit());
  for (double& value : grad) value = random.unit();
  for (const std::size_t methods : {1, 3, 7}) {
    AdaSelectionOptions options;
    options.methods.clear();
    for (std::size_t m = 0; m < methods; ++m) options.methods.push_back(static_cast<Method>(m));
    AdaSelection selector(options);
    std::vector<double> times;
    for (int run = 0; run < 200; ++run)
      times.push_back(1000 * milliseconds([&] { selector.select({loss, grad}); }));
    row("selector, batch of 1,024, " + std::to_string(methods) + " methods", times, "µs");
  }
}

void bench_scores(Index samples) {
  std::vector<Index> ids(1 << 20);
  std::vector<float> loss(ids.size(), 0.5F), p(ids.size(), 0.6F), other(ids.size(), 0.1F),
      size(ids.size(), 1e5F);
  double reporting = 0;
  double deciding = 0;
  const double making = milliseconds([&] {
    Scores scores(samples, {.cross_entropy = true});
    reporting = milliseconds([&] {
      for (Index begin = 0; begin < samples; begin += static_cast<Index>(ids.size())) {
        const auto count =
            static_cast<std::size_t>(std::min<Index>(static_cast<Index>(ids.size()), samples - begin));
        for (std::size_t i = 0; i < count; ++i) {
          ids[i] = begin + static_cast<Index>(i);
          loss[i] = 1e-4F + 1e-6F * static_cast<float>(i);
        }
        const auto first = [&](const std::vector<float>& column) {
          return Values(std::span(column).first(count));
        };
        scores.report(std::span(ids).first(count),
                      {first(p), first(other), first(loss), {}, first(loss), first(size)});
      }
    });
    BucketSampler sampler(BucketOptions{.profile_epochs = 1});
    std::vector<double> column;
    deciding = milliseconds([&] {
      const Criterion only = Criterion::entropy;
      const auto scores_of = [&](Criterion criterion) -> std::span<const double> {
        scores.criterion(criterion, column);
        return column;
      };
      sampler.end_epoch(scores.buckets(), {&only, 1}, scores_of, 0.5);
    });
  });
  const std::string of = std::to_string(samples) + " samples, ";
  row("scores of " + of + "one report of each", {reporting}, "ms");
  row("scores of " + of + "one epoch end, entropy", {deciding}, "ms");
  row("scores of " + of + "all", {making},
      ("ms; " + std::to_string(samples * Scores::kBytesPerSample / 1000000) + " MB").c_str());
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  const winnow::Index samples = argc > 1 ? std::atoll(argv[1]) : 1280000;
  const std::string part = argc > 2 ? argv[2] : "";
  std::printf("| %-58s | %10s | %10s | |\n|---|---|---|---|\n", "what", "median", "best");
  if (part.empty() || part == "epoch") winnow::bench_epoch_end(samples);
  if (part.empty() || part == "partition") winnow::bench_partition(samples);
  if (part.empty() || part == "selector") winnow::bench_selector();
  if (part.empty() || part == "stars") winnow::bench_stars();
  if (part == "scores") winnow::bench_scores(samples);
}
