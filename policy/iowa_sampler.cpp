#include "policy/iowa_sampler.h"

#include "policy/random.h"
#include "policy/redundancy.h"

namespace winnow {
namespace {

BucketOptions bucket_options(const IowaOptions& options) {
  BucketOptions buckets = options;
  buckets.recall = options.recall && options.variant != Variant::norecall;
  return buckets;
}

}  // namespace

const ParameterTable<IowaOptions>& iowa_parameters() {
  using O = IowaOptions;
  static const auto table =
      ParameterTable<O>("iowa")
          .choice("variant", &O::variant, {"norecall", "random", "random+rremove", "random+rrepeat", "auto"},
                  "whether samples return, and what becomes of near duplicates")
          .choice("task", &O::task, {"classification", "loss_only"},
                  "loss_only: there are no class probabilities")
          .list("criteria", &O::criteria, criterion_names(), "auto", "which criteria vote; auto: by workload")
          .number("io_bound_at", &O::io_bound_at, kUnit, "share of waiting from which a job is I/O-bound")
          .integer("max_repeats", &O::max_repeats, kAtLeastOne,
                   "times a sample may stand for others in an epoch")
          .include(bucket_parameters());
  return table;
}

IowaSampler::IowaSampler(const IowaOptions& options) : options_(options), sampler_(bucket_options(options)) {
  iowa_parameters().check(options);
}

std::vector<Criterion> IowaSampler::criteria() const {
  if (!options_.criteria.empty()) return options_.criteria;
  return voting_criteria(stall_.value_or(0) >= options_.io_bound_at, options_.task);
}

bool IowaSampler::removes() const {
  if (options_.variant == Variant::random_rremove) return true;
  return options_.variant == Variant::automatic && stall_ && *stall_ < options_.io_bound_at;
}

bool IowaSampler::repeats() const {
  if (options_.variant == Variant::random_rrepeat) return true;
  return options_.variant == Variant::automatic && stall_ && *stall_ >= options_.io_bound_at;
}

std::vector<Index> IowaSampler::order(const Scores& scores, const EpochRequest& request) const {
  std::vector<Index> order = scores.buckets().in_process();
  Random(sub_seed(options_.seed, Purpose::epoch_shuffle, request.epoch)).shuffle(std::span<Index>(order));
  if (request.groups == nullptr && options_.variant == Variant::random_rremove) {
    refuse("groups", "given with the variant random+rremove", "none");
  }
  if (request.groups != nullptr) {
    require_length("groups", static_cast<std::size_t>(request.groups->samples()),
                   static_cast<std::size_t>(scores.samples()));
  }
  if (removes() && request.groups != nullptr) order = rremove(order, *request.groups);
  if (repeats() && request.groups != nullptr && request.cached) {
    RRepeat repeat(*request.groups, options_.max_repeats);
    for (Index& sample : order) sample = repeat.deliver(sample, request.cached).value_or(sample);
  }
  return part_of(order, Layout::stripes, request.worker, request.equalise);
}

void IowaSampler::judge_workload() {
  stall_ = stall_of(profiled_);
  profiled_.clear();
}

void IowaSampler::profile_again() {
  stall_.reset();
  profiled_.clear();
}

EpochDecision IowaSampler::end_epoch(Scores& scores, const EpochTimes& times) {
  stall_of({&times, 1});  // refuses bad times before anything has changed
  if (!stall_) {
    profiled_.push_back(times);
    if (static_cast<Index>(profiled_.size()) >= options_.profile_epochs) judge_workload();
  }
  EpochDecision decision;
  decision.criteria = criteria();
  decision.stall = stall_;
  decision.io_bound = stall_.value_or(0) >= options_.io_bound_at;
  const auto scores_of = [&](Criterion criterion) -> std::span<const double> {
    scores.criterion(criterion, column_);
    return column_;
  };
  decision.buckets =
      sampler_.end_epoch(scores.buckets(), decision.criteria, scores_of, scores.take_accuracy(), out_order_);
  return decision;
}

void IowaSampler::save(StateWriter& state) const {
  state.open("iowa 1");
  state.integer(sampler_.epochs_ended());
  for (std::size_t c = 0; c < criterion_names().size(); ++c) {
    state.optional_number(sampler_.threshold(static_cast<Criterion>(c)));
  }
  state.optional_number(sampler_.plateau().best());
  state.integer(sampler_.plateau().flat_epochs());
  state.optional_number(stall_);
  state.word(profiled_.size());
  for (const EpochTimes& times : profiled_) {
    state.number(times.io_wait);
    state.number(times.compute);
  }
}

void IowaSampler::load(StateReader& state) {
  state.open("iowa 1");
  const Index epochs_ended = state.integer();
  std::vector<std::optional<double>> thresholds;
  for (std::size_t c = 0; c < criterion_names().size(); ++c) thresholds.push_back(state.optional_number());
  const std::optional<double> best = state.optional_number();
  sampler_.restore(epochs_ended, thresholds, best, state.integer());
  stall_ = state.optional_number();
  profiled_.clear();
  for (std::uint64_t left = state.word(); left > 0; --left) {
    const double io_wait = state.number();
    profiled_.push_back({io_wait, state.number()});
  }
}

}  // namespace winnow
