#include "policy/dpt_sampler.h"

#include "policy/random.h"
#include "policy/rank_order.h"

namespace winnow {

const ParameterTable<DptOptions>& dpt_parameters() {
  using O = DptOptions;
  static const auto table =
      ParameterTable<O>("dpt")
          .integer("warmup_epochs", &O::warmup_epochs, kAtLeastOne, "epochs with a new random partition each")
          .integer("ignore_epochs", &O::ignore_epochs, kNotNegative,
                   "first epochs of the warm-up whose losses do not count")
          .integer("interval_epochs", &O::interval_epochs, kAtLeastOne, "epochs a partition stays")
          .choice("measure", &O::measure, {"average", "variance"}, "of a sample's losses, its importance")
          .choice("layout", &O::layout, layout_names(), "how ranked samples are dealt to the workers")
          .seed(&O::seed)
          .rule([](const O& o) {
            if (o.warmup_epochs > o.ignore_epochs) return;
            refuse("warmup_epochs", "more than ignore_epochs (" + std::to_string(o.ignore_epochs) + ")",
                   std::to_string(o.warmup_epochs));
          });
  return table;
}

DptSampler::DptSampler(const DptOptions& options) : options_(options) { dpt_parameters().check(options); }

std::vector<Index> DptSampler::ranked(const Scores& scores) const {
  if (!warming_up() && options_.layout != Layout::random) return rank_descending(scores.importance());
  // In the warm-up every epoch has its own deal, later every interval.
  const Index since_warmup = epochs_ended_ - options_.warmup_epochs;
  const Index dealt_at =
      warming_up() ? epochs_ended_ : epochs_ended_ - since_warmup % options_.interval_epochs;
  return shuffled_indices(scores.samples(), sub_seed(options_.seed, Purpose::partition, dealt_at));
}

std::vector<Index> DptSampler::order(const Scores& scores, const EpochRequest& request) const {
  const Layout layout = warming_up() ? Layout::random : options_.layout;
  std::vector<Index> part = part_of(ranked(scores), layout, request.worker, request.equalise);
  Random random(sub_seed(options_.seed, Purpose::epoch_shuffle, request.epoch, request.worker.number));
  random.shuffle(std::span<Index>(part));
  return part;
}

EpochDecision DptSampler::end_epoch(Scores& scores, const EpochTimes&) {
  ++epochs_ended_;
  scores.take_accuracy();
  const Index trained = epochs_ended_ - options_.warmup_epochs;
  const bool interval_ends = trained >= 0 && trained % options_.interval_epochs == 0;
  if (interval_ends) {
    renew_importance(scores.importance(), options_.measure, [&](Index i) { return scores.loss_history(i); });
  }
  if (interval_ends || epochs_ended_ <= options_.ignore_epochs) scores.forget_losses();
  return {};
}

void DptSampler::save(StateWriter& state) const {
  state.open("dpt 1");
  state.integer(epochs_ended_);
}

void DptSampler::load(StateReader& state) {
  state.open("dpt 1");
  epochs_ended_ = state.integer();
}

}  // namespace winnow
