#include <map>

#include "tests/policy/golden_cases.h"
#include "tests/policy/golden_json.h"

namespace winnow::golden {
namespace {

json partition(const json& input) {
  const Ragged losses(input.at("losses"), input.at("ignore_epochs").get<std::size_t>());
  Numbers importance(static_cast<std::size_t>(losses.count()));
  require_ok(winnow_importance(losses.values.data(), losses.offsets.data(), losses.count(),
                               input.at("measure").get<std::string>().c_str(), importance.data()));
  Ids order(importance.size());
  require_ok(winnow_rank(importance.data(), count_of(order), order.data()));
  json got{{"importance", importance}, {"order", order}};
  const int64_t workers = input.at("workers");
  const std::map<std::string, std::string> forms{{"", "none"}, {"_padded", "pad"}, {"_dropped", "drop"}};
  for (const std::string layout : {"stripes", "blocks"}) {
    for (const auto& [suffix, equalise] : forms) {
      json parts = json::array();
      for (int64_t worker = 0; worker < workers; ++worker) {
        parts.push_back(collected(count_of(order), [&, &equalise = equalise](int64_t* out, int64_t* count) {
          return winnow_partition(order.data(), count_of(order), layout.c_str(), worker, workers,
                                  equalise.c_str(), out, count);
        }));
      }
      got[layout + suffix] = parts;
    }
  }
  return got;
}

json schedule(const json& input) {
  const int64_t epochs = input.at("epochs");
  return {{"interval_starts", collected(epochs, [&](int64_t* out, int64_t* count) {
             return winnow_interval_starts(epochs, input.at("warmup_epochs"), input.at("interval_epochs"),
                                           out, count);
           })}};
}

winnow_values given(const Numbers& values) {
  return {values.empty() ? nullptr : values.data(), count_of(values), WINNOW_FLOAT64};
}

Numbers detail(const winnow_selector* selector, const char* name, int64_t row = 0) {
  const double* values = nullptr;
  int64_t count = 0;
  require_ok(winnow_selector_detail(selector, name, row, &values, &count));
  return {values, values + count};
}

json selection_step(winnow_selector* selector, const json& step, std::size_t methods,
                    winnow_selection& selection) {
  const Numbers loss = numbers(step.at("loss"));
  const Numbers grad = numbers(step.value("grad", json::array()));
  const Numbers draws = numbers(step.value("uniform_draws", json::array()));
  const winnow_values losses = given(loss), grads = given(grad), units = given(draws);
  require_ok(winnow_selector_select(selector, &losses, &grads, &units, &selection));
  json got{{"k", selection.kept_count}, {"kept", Ids(selection.kept, selection.kept + selection.kept_count)}};
  for (const char* name : {"method_loss", "weights", "reward", "score"}) got[name] = detail(selector, name);
  for (std::size_t m = 0; m < methods; ++m) {
    const int64_t* ids = nullptr;
    int64_t count = 0;
    require_ok(winnow_selector_method_selection(selector, static_cast<int64_t>(m), &ids, &count));
    got["alpha"].push_back(detail(selector, "alpha", static_cast<int64_t>(m)));
    got["method_selection"].push_back(Ids(ids, ids + count));
  }
  return got;
}

json adaselection(const json& input) {
  const std::string text =
      "methods=" + joined(input.at("methods")) + " " +
      parameters(input, {"batch", "rate", "beta", "curriculum", "curriculum_power", "curriculum_scale",
                         "weight_floor", "weight_rule", "adaboost_margin"});
  winnow_selector* selector = winnow_selector_new("adaselection", text.c_str());
  if (selector == nullptr) throw std::runtime_error(winnow_last_error());
  json steps = json::array(), due = json::array();
  for (const json& step : input.at("steps")) {
    winnow_selection selection{};
    steps.push_back(selection_step(selector, step, input["methods"].size(), selection));
    if (selection.due_after > 0) due.push_back(input.at("batch"));
  }
  int64_t carry = 0;
  require_ok(winnow_selector_carry(selector, &carry));
  winnow_selector_free(selector);
  return {{"steps", steps}, {"accumulated", {{"batches_due", due}, {"carry", carry}}}};
}

json words(const std::vector<uint64_t>& values) {
  json list = json::array();
  for (const uint64_t one : values) list.push_back(std::to_string(one));
  return list;
}

json random(const json& input) {
  const std::string op = input.at("op");
  const uint64_t seed = word(input.at("seed"));
  const auto count = input.value("count", int64_t{0});
  std::vector<uint64_t> values(static_cast<std::size_t>(count));
  if (op == "u64") require_ok(winnow_random_u64(seed, count, values.data()));
  if (op == "below") require_ok(winnow_random_below(seed, word(input.at("bound")), count, values.data()));
  if (op == "u64" || op == "below") return {{"values", words(values)}};
  if (op == "unit") {
    Numbers units(static_cast<std::size_t>(count));
    require_ok(winnow_random_unit(seed, count, units.data()));
    return {{"values", units}};
  }
  if (op == "shuffle") {
    Ids order(input.at("n").get<std::size_t>());
    require_ok(winnow_random_shuffle(seed, count_of(order), order.data()));
    return {{"order", order}};
  }
  if (op == "pick") {
    const Ids from = input.at("ids").get<Ids>();
    Ids ids(static_cast<std::size_t>(count));
    require_ok(winnow_random_pick(seed, from.data(), count_of(from), count, ids.data()));
    return {{"ids", ids}};
  }
  if (op != "sub_seed")
    throw std::runtime_error("op must be u64, unit, below, shuffle, pick or sub_seed, got " + op);
  std::vector<uint64_t> parts;
  for (const json& part : input.at("parts")) parts.push_back(word(part));
  return {{"seed", std::to_string(winnow_sub_seed(seed, parts.data(), count_of(parts)))}};
}

json biggest_loser(const json& input) {
  winnow_selector* selector =
      winnow_selector_new("biggest_loser", parameters(input, {"window", "beta"}).c_str());
  if (selector == nullptr) throw std::runtime_error(winnow_last_error());
  json probability = json::array(), kept = json::array();
  for (std::size_t b = 0; b < input.at("batches").size(); ++b) {
    const Numbers loss = numbers(input["batches"][b]), draws = numbers(input.at("draws")[b]);
    const winnow_values losses = given(loss), units = given(draws);
    winnow_selection selection{};
    require_ok(winnow_selector_select(selector, &losses, nullptr, &units, &selection));
    probability.push_back(detail(selector, "probability"));
    kept.push_back(Ids(selection.kept, selection.kept + selection.kept_count));
  }
  winnow_selector_free(selector);
  return {{"probability", probability}, {"kept", kept}};
}

json coreset(const json& input) {
  const Ragged rows(input.at("probability"));
  const int64_t n = rows.count();
  Numbers uncertainty(static_cast<std::size_t>(n));
  const Ids chosen = collected(n, [&](int64_t* out, int64_t* count) {
    return winnow_coreset(rows.values.data(), n, rows.offsets[1],
                          parameters(input, {"uncertainty", "fraction"}).c_str(), uncertainty.data(), out,
                          count);
  });
  return {{"uncertainty", uncertainty}, {"chosen", chosen}};
}

json samplers(const json& input) {
  const std::string op = input.at("op");
  if (op == "biggest_loser") return biggest_loser(input);
  if (op == "coreset") return coreset(input);
  if (op == "online") {
    const Numbers loss = numbers(input.at("loss"));
    Numbers probability(loss.size());
    double pressure = 0;
    require_ok(winnow_online(loss.data(), count_of(loss), input.at("epoch"), input.at("epochs"),
                             input.at("pressure_start"), input.at("pressure_end"), &pressure,
                             probability.data()));
    return {{"pressure", pressure}, {"probability", probability}};
  }
  if (op == "active_bias") {
    const Ragged history(input.at("history"));
    Numbers weight(static_cast<std::size_t>(history.count()));
    require_ok(winnow_active_bias(history.values.data(), history.offsets.data(), history.count(),
                                  number(input.at("epsilon")), weight.data()));
    return {{"weight", weight}};
  }
  if (op != "draw")
    throw std::runtime_error("op must be online, active_bias, biggest_loser, coreset or draw, got " + op);
  const Numbers weight = numbers(input.at("weight")), draws = numbers(input.at("draws"));
  Ids index(draws.size());
  require_ok(winnow_draw(weight.data(), count_of(weight), draws.data(), count_of(draws), index.data()));
  return {{"index", index}};
}

}  // namespace

const std::map<std::string, Run>& training_runs() {
  static const std::map<std::string, Run> runs{
      {"dpt.partition", partition}, {"dpt.schedule", schedule}, {"adaselection", adaselection},
      {"random", random},           {"samplers", samplers},
  };
  return runs;
}

}  // namespace winnow::golden
