#include <cmath>

#include "policy/adaselection.h"
#include "policy/biggest_loser.h"
#include "policy/c_boundary.h"
#include "policy/c_handles.h"
#include "policy/registry.h"

using namespace winnow;
using namespace winnow::c;

namespace {

Values values(const char* field, const winnow_values& given) {
  if (given.data == nullptr) return {};
  if (given.type == WINNOW_FLOAT32) return array(field, static_cast<const float*>(given.data), given.count);
  if (given.type == WINNOW_FLOAT64) return array(field, static_cast<const double*>(given.data), given.count);
  refuse(std::string(field) + " type", "float32 or float64", std::to_string(given.type));
}

// Double precision is used where it lies; single precision is widened into the handle's own buffer.
std::span<const double> widened(const char* field, const winnow_values* given, std::vector<double>& buffer) {
  if (given == nullptr || given->data == nullptr) return {};
  if (given->type == WINNOW_FLOAT64)
    return array(field, static_cast<const double*>(given->data), given->count);
  const Values single = values(field, *given);
  buffer.resize(single.size());
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = single[i];
  return buffer;
}

FactColumns columns(int64_t count, const winnow_facts& facts) {
  FactColumns given{values("p_target", facts.p_target),   values("p_other", facts.p_other),
                    values("loss", facts.loss),           values("grad", facts.grad),
                    values("load_time", facts.load_time), values("size", facts.size)};
  if (facts.correct != nullptr) given.correct = array("correct", facts.correct, count);
  given.trained = facts.trained != 0;
  return given;
}

// A state names the policy and parameters it was saved with, so that it cannot be loaded into another.
template <typename Save>
std::string saved(std::string_view policy, std::string_view parameters, Save save) {
  StateWriter state;
  state.open("winnow policy state 1");
  state.open(policy);
  state.open(parameters);
  save(state);
  return state.bytes();
}

StateReader opened(std::string_view bytes, std::string_view policy, std::string_view parameters) {
  StateReader state(bytes);
  state.open("winnow policy state 1");
  state.open(policy);
  state.open(parameters);
  return state;
}

const ParameterTable<ScoreSettings>& settings_parameters() {
  using O = ScoreSettings;
  static const auto table =
      ParameterTable<O>("scores")
          .flag("cross_entropy", &O::cross_entropy,
                "the loss is cross entropy in nats, without label smoothing")
          .number("alpha", &O::alpha, kUnit, "share of the load time in the io criterion");
  return table;
}

const std::vector<double>& detail_named(const BatchSelector& selector, std::string_view name, int64_t row) {
  if (const auto* loser = dynamic_cast<const BiggestLoser*>(&selector); loser != nullptr) {
    if (name == "probability") return loser->probability();
    refuse("detail", "probability", '"' + std::string(name) + '"');
  }
  const AdaSelection::Detail& detail = dynamic_cast<const AdaSelection&>(selector).detail();
  if (name == "method_loss") return detail.method_loss;
  if (name == "weights") return detail.weights;
  if (name == "reward") return detail.reward;
  if (name == "score") return detail.score;
  if (name != "alpha")
    refuse("detail", "one of alpha, method_loss, weights, reward, score", '"' + std::string(name) + '"');
  require_index("row", row, static_cast<Index>(detail.alpha.size()));
  return detail.alpha[static_cast<std::size_t>(row)];
}

const AdaSelection& adaselection(const winnow_selector& handle) {
  const auto* selector = dynamic_cast<const AdaSelection*>(handle.selector.get());
  if (selector == nullptr) refuse("selector", "adaselection", handle.policy);
  return *selector;
}

}  // namespace

extern "C" {

winnow_selector* winnow_selector_new(const char* policy, const char* parameters) {
  return made<winnow_selector>([&] {
    return new winnow_selector{make_selector(text(policy), text(parameters)), std::string(text(policy)),
                               std::string(text(parameters))};
  });
}

void winnow_selector_free(winnow_selector* selector) { delete selector; }

int winnow_selector_select(winnow_selector* handle, const winnow_values* loss, const winnow_values* grad,
                           const winnow_values* draws, winnow_selection* selection) {
  return guarded([&] {
    winnow_selector& own = held(handle);
    const Selection& chosen =
        own.selector->select({widened("loss", loss, own.loss), widened("grad", grad, own.grad),
                              widened("draws", draws, own.draws)});
    *selection = {chosen.kept.data(), static_cast<int64_t>(chosen.kept.size()), chosen.due_after};
  });
}

int winnow_selector_set_epoch(winnow_selector* handle, int64_t epoch) {
  return guarded([&] { held(handle).selector->set_epoch(epoch); });
}

int winnow_selector_detail(const winnow_selector* handle, const char* name, int64_t row,
                           const double** numbers, int64_t* count) {
  return guarded([&] {
    const std::vector<double>& found = detail_named(*held(handle).selector, text(name), row);
    *numbers = found.data();
    *count = static_cast<int64_t>(found.size());
  });
}

int winnow_selector_method_selection(const winnow_selector* handle, int64_t row, const int64_t** ids,
                                     int64_t* count) {
  return guarded([&] {
    const auto& selections = adaselection(held(handle)).detail().method_selection;
    require_index("row", row, static_cast<Index>(selections.size()));
    *ids = selections[static_cast<std::size_t>(row)].data();
    *count = static_cast<int64_t>(selections[static_cast<std::size_t>(row)].size());
  });
}

int winnow_selector_carry(const winnow_selector* handle, int64_t* carry) {
  return guarded([&] { *carry = adaselection(held(handle)).carry(); });
}

int winnow_selector_save(winnow_selector* handle, const char** bytes, int64_t* size) {
  return guarded([&] {
    winnow_selector& own = held(handle);
    own.state = saved(own.policy, own.parameters, [&](StateWriter& state) { own.selector->save(state); });
    *bytes = own.state.data();
    *size = static_cast<int64_t>(own.state.size());
  });
}

int winnow_selector_load(winnow_selector* handle, const char* bytes, int64_t size) {
  return guarded([&] {
    winnow_selector& own = held(handle);
    const auto given = array("state", bytes, size);
    StateReader state = opened({given.data(), given.size()}, own.policy, own.parameters);
    auto fresh = make_selector(own.policy, own.parameters);
    fresh->load(state);
    state.close();
    own.selector = std::move(fresh);
  });
}

winnow_sampler* winnow_sampler_new(const char* policy, int64_t samples, const char* parameters,
                                   const char* settings) {
  return made<winnow_sampler>([&] {
    auto sampler = make_sampler(text(policy), text(parameters));
    return new winnow_sampler{Scores(samples, settings_parameters().parse(text(settings))),
                              std::move(sampler), std::string(text(policy)),
                              std::string(text(parameters)) + " | " + std::string(text(settings))};
  });
}

void winnow_sampler_free(winnow_sampler* sampler) { delete sampler; }

int winnow_sampler_report(winnow_sampler* handle, const int64_t* ids, int64_t count,
                          const winnow_facts* facts) {
  return guarded([&] { held(handle).scores.report(array("ids", ids, count), columns(count, *facts)); });
}

int winnow_sampler_check(const winnow_sampler* handle, const int64_t* ids, int64_t count,
                         const winnow_facts* facts) {
  return guarded([&] { held(handle).scores.check(array("ids", ids, count), columns(count, *facts)); });
}

int winnow_sampler_end_epoch(winnow_sampler* handle, double io_wait, double compute,
                             winnow_decision* decision) {
  return guarded([&] {
    winnow_sampler& own = held(handle);
    own.decision = own.sampler->end_epoch(own.scores, {io_wait, compute});
    const EpochEnd& end = own.decision.buckets;
    std::vector<std::string> names;
    for (const Criterion criterion : own.decision.criteria) names.push_back(name_of(criterion));
    own.criteria = joined(names, "+");
    own.thresholds.clear();
    for (const auto& threshold : end.thresholds) own.thresholds.push_back(threshold.value_or(NAN));
    const Buckets& buckets = own.scores.buckets();
    *decision = {own.criteria.c_str(),
                 own.thresholds.data(),
                 end.out.data(),
                 static_cast<int64_t>(end.out.size()),
                 end.recalled.data(),
                 static_cast<int64_t>(end.recalled.size()),
                 buckets.in_process_count(),
                 buckets.waiting_count(),
                 own.decision.stall.value_or(NAN),
                 own.decision.io_bound,
                 end.plateau};
  });
}

int winnow_sampler_order(winnow_sampler* handle, int64_t epoch, int64_t worker, int64_t workers,
                         const char* equalise, const winnow_groups* groups, const uint8_t* cached,
                         const int64_t** ids, int64_t* count) {
  return guarded([&] {
    winnow_sampler& own = held(handle);
    require("epoch", static_cast<double>(epoch), kNotNegative);
    EpochRequest request{epoch, {worker, workers}};
    request.equalise = static_cast<Equalise>(parse_choice("equalise", text(equalise), equalise_names()));
    if (groups != nullptr) request.groups = &groups->groups;
    if (cached != nullptr) request.cached = [=](Index i) { return cached[i] != 0; };
    own.order = own.sampler->order(own.scores, request);
    *ids = own.order.data();
    *count = static_cast<int64_t>(own.order.size());
  });
}

int winnow_sampler_bucket(const winnow_sampler* handle, uint8_t* waiting) {
  return guarded([&] {
    const Buckets& buckets = held(handle).scores.buckets();
    for (Index i = 0; i < buckets.samples(); ++i) waiting[i] = buckets.waiting(i);
  });
}

int winnow_sampler_save(winnow_sampler* handle, const char** bytes, int64_t* size) {
  return guarded([&] {
    winnow_sampler& own = held(handle);
    own.state = saved(own.policy, own.parameters, [&](StateWriter& state) {
      own.sampler->save(state);
      own.scores.save(state);
    });
    *bytes = own.state.data();
    *size = static_cast<int64_t>(own.state.size());
  });
}

int winnow_sampler_load(winnow_sampler* handle, const char* bytes, int64_t size) {
  return guarded([&] {
    winnow_sampler& own = held(handle);
    const auto given = array("state", bytes, size);
    StateReader state = opened({given.data(), given.size()}, own.policy, own.parameters);
    const std::string_view parameters(own.parameters);
    auto fresh = make_sampler(own.policy, parameters.substr(0, parameters.find(" | ")));
    fresh->load(state);
    Scores scores(own.scores.samples(), own.scores.settings());
    scores.load(state);
    state.close();
    own.sampler = std::move(fresh);
    own.scores = std::move(scores);
  });
}

}  // extern "C"
