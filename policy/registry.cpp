#include "policy/registry.h"

#include "policy/adaselection.h"
#include "policy/biggest_loser.h"
#include "policy/dpt_sampler.h"
#include "policy/draw_samplers.h"
#include "policy/draw_weights.h"
#include "policy/groups.h"
#include "policy/iowa_sampler.h"
#include "policy/lru.h"
#include "policy/no_evict.h"
#include "policy/ranked_eviction.h"
#include "policy/two_random.h"

namespace winnow {
namespace {

constexpr const char* kIowa = "IOWA: I/O-aware adaptive sampling";
constexpr const char* kDpt = "Importance-aware data-parallel training";
constexpr const char* kOurs = "none: a baseline";

struct NoOptions {};
struct SeedOptions {
  std::uint64_t seed = 0;
};

const ParameterTable<SeedOptions>& two_random_parameters() {
  static const auto table = ParameterTable<SeedOptions>("2-random").seed(&SeedOptions::seed);
  return table;
}

template <typename Policy>
std::unique_ptr<EvictionPolicy> without_parameters(std::string_view name, std::string_view parameters) {
  ParameterTable<NoOptions>(std::string(name)).parse(parameters);
  return std::make_unique<Policy>();
}

std::vector<PolicyEntry> samplers() {
  return {
      {.info = {"uniform", PolicyKind::sampler,
                "every sample, or a share drawn anew each epoch; the equal-work control", kOurs, "",
                uniform_parameters().describe()},
       .sampler = [](std::string_view text) { return make_uniform(uniform_parameters().parse(text)); }},
      {.info = {"iowa", PolicyKind::sampler,
                "two buckets: unimportant samples wait until training stops improving", kIowa,
                "p_target, p_other (or loss); load_time, size; correct", iowa_parameters().describe()},
       .sampler =
           [](std::string_view text) {
             return std::make_unique<IowaSampler>(iowa_parameters().parse(text));
           }},
      {.info = {"online", PolicyKind::sampler,
                "draws by rank of the last loss, with pressure that falls over training",
                "Online Batch Selection for Faster Training of Neural Networks", "loss",
                online_parameters().describe()},
       .sampler = [](std::string_view text) { return make_online(online_parameters().parse(text)); }},
      {.info = {"active_bias", PolicyKind::sampler,
                "draws by how much the predicted probability still varies",
                "Active Bias: Training More Accurate Neural Networks by Emphasizing High Variance Samples",
                "p_target", active_bias_parameters().describe()},
       .sampler =
           [](std::string_view text) { return make_active_bias(active_bias_parameters().parse(text)); }},
      {.info = {"dpt", PolicyKind::partition,
                "deals samples to workers by importance, for an interval of epochs", kDpt, "loss",
                dpt_parameters().describe()},
       .sampler =
           [](std::string_view text) { return std::make_unique<DptSampler>(dpt_parameters().parse(text)); }},
  };
}

std::vector<PolicyEntry> selectors() {
  return {
      {.info = {"adaselection", PolicyKind::selector,
                "keeps the best of a batch by a mix of methods with adaptive weights",
                "AdaSelection: Accelerating Deep Learning Training through Data Subsampling",
                "loss; grad for grad_norm", adaselection_parameters().describe()},
       .selector =
           [](std::string_view text) {
             return std::make_unique<AdaSelection>(adaselection_parameters().parse(text));
           }},
      {.info = {"biggest_loser", PolicyKind::selector,
                "keeps a sample the likelier, the higher its loss ranks among the last",
                "Accelerating Deep Learning by Focusing on the Biggest Losers", "loss",
                biggest_loser_parameters().describe()},
       .selector =
           [](std::string_view text) {
             return std::make_unique<BiggestLoser>(biggest_loser_parameters().parse(text));
           }},
      {.info = {"coreset", PolicyKind::subset, "the most uncertain samples of a proxy model, chosen once",
                "Selection via Proxy: Efficient Data Selection for Deep Learning",
                "p0, p1, ... (whole probability vectors)", coreset_parameters().describe()}},
      {.info = {"groups", PolicyKind::grouping, "near duplicates of one label, by perceptual hash", kIowa,
                "hash, label", group_parameters().describe()}},
  };
}

std::vector<PolicyEntry> cache_policies() {
  const auto plain = [](std::string name, std::string summary, std::string needs) {
    return PolicyInfo{std::move(name), PolicyKind::eviction, std::move(summary), kOurs, std::move(needs), {}};
  };
  return {
      {.info = plain("lru", "the least recently used sample leaves", ""),
       .eviction = [](std::string_view text) { return without_parameters<Lru>("lru", text); },
       .admission = admit_all},
      {.info = {"2-random", PolicyKind::eviction,
                "of two residents drawn at random the less recently used leaves", kOurs, "",
                two_random_parameters().describe()},
       .eviction =
           [](std::string_view text) {
             return std::make_unique<TwoRandom>(two_random_parameters().parse(text).seed);
           },
       .admission = admit_all},
      {.info = plain("none", "nobody leaves; what does not fit is not admitted", ""),
       .eviction = [](std::string_view text) { return without_parameters<NoEvict>("none", text); },
       .admission = admit_what_fits},
      {.info =
           plain("importance", "the least important sample leaves, for a more important one", "importance"),
       .eviction =
           [](std::string_view text) { return without_parameters<ImportanceEviction>("importance", text); },
       .admission = admit_the_more_important},
      {.info = plain("belady", "the farthest next use leaves; a bound, for simulation", "next_use"),
       .eviction = [](std::string_view text) { return without_parameters<Belady>("belady", text); },
       .admission = admit_the_sooner_used},
  };
}

template <typename Make>
const Make& of_kind(const Make& make, std::string_view name, std::string_view kind) {
  if (!make) refuse("policy", kind, '"' + std::string(name) + '"');
  return make;
}

}  // namespace

std::string_view name_of(PolicyKind kind) {
  constexpr std::string_view kNames[] = {"sampler", "partition", "selector",
                                         "subset",  "grouping",  "eviction"};
  return kNames[static_cast<std::size_t>(kind)];
}

const std::vector<PolicyEntry>& registry() {
  static const std::vector<PolicyEntry> all = [] {
    std::vector<PolicyEntry> entries;
    for (const auto& part : {samplers(), selectors(), cache_policies()}) {
      entries.insert(entries.end(), part.begin(), part.end());
    }
    return entries;
  }();
  return all;
}

const PolicyEntry& find_policy(std::string_view name) {
  std::vector<std::string> known;
  for (const PolicyEntry& entry : registry()) {
    if (entry.info.name == name) return entry;
    known.push_back(entry.info.name);
  }
  refuse("policy", "one of " + joined(known, ", "), '"' + std::string(name) + '"');
}

std::unique_ptr<Sampler> make_sampler(std::string_view name, std::string_view parameters) {
  return of_kind(find_policy(name).sampler, name, "a sampler or a partition")(parameters);
}

std::unique_ptr<BatchSelector> make_selector(std::string_view name, std::string_view parameters) {
  return of_kind(find_policy(name).selector, name, "a selector")(parameters);
}

std::unique_ptr<EvictionPolicy> make_eviction(std::string_view name, std::string_view parameters) {
  return of_kind(find_policy(name).eviction, name, "an eviction policy")(parameters);
}

std::unique_ptr<AdmissionPolicy> make_admission(std::string_view name) {
  return of_kind(find_policy(name).admission, name, "an eviction policy")();
}

}  // namespace winnow
