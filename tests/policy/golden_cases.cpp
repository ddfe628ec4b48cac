#include "tests/policy/golden_cases.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <vector>

#include "policy/winnow_policy.h"

namespace winnow::golden {
namespace {

using nlohmann::json;
using Numbers = std::vector<double>;
using Ids = std::vector<int64_t>;
using Bytes = std::vector<uint8_t>;

void require_ok(int status) {
  if (status != WINNOW_OK) throw std::runtime_error(winnow_last_error());
}

double number(const json& value) {
  if (value.is_null()) return NAN;
  if (value == "nan") return NAN;
  if (value == "inf") return INFINITY;
  return value.get<double>();
}

Numbers numbers(const json& list) {
  Numbers made;
  for (const json& one : list) made.push_back(number(one));
  return made;
}

int64_t count_of(const auto& list) { return static_cast<int64_t>(list.size()); }
uint64_t word(const json& text) { return std::stoull(text.get<std::string>()); }
json or_null(double value) { return std::isnan(value) ? json(nullptr) : json(value); }

std::string spelled(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string parameters(const json& object, std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names) {
    if (object.contains(name)) text += std::string(name) + "=" + spelled(object[name]) + " ";
  }
  return text;
}

std::string joined(const json& names) {
  std::string text;
  for (const json& one : names) text += (text.empty() ? "" : "+") + one.get<std::string>();
  return text;
}

json split(const std::string& names) {
  json list = json::array();
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find('+', begin), names.size());
    list.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

json ids_where(const Bytes& marks, auto marked) {
  json ids = json::array();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marked(marks[i])) ids.push_back(i);
  }
  return ids;
}

// A list per sample, flattened.
struct Ragged {
  Numbers values;
  Ids offsets = {0};
  explicit Ragged(const json& lists, std::size_t skip = 0) {
    for (const json& list : lists) {
      for (std::size_t i = skip; i < list.size(); ++i) values.push_back(number(list[i]));
      offsets.push_back(count_of(values));
    }
  }
  int64_t count() const { return count_of(offsets) - 1; }
};

// A call that writes up to `room` ids and their number.
template <typename Call>
Ids collected(int64_t room, Call call) {
  Ids ids(static_cast<std::size_t>(room) + 1);
  int64_t count = 0;
  require_ok(call(ids.data(), &count));
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

json refused_sample(const json& input) {
  const Numbers loss = numbers(input.at("loss"));
  Ids ids(loss.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  winnow_sampler* sampler = winnow_sampler_new("uniform", count_of(ids), "", "");
  winnow_facts facts{};
  facts.loss = {loss.data(), count_of(loss), WINNOW_FLOAT64};
  const int status = winnow_sampler_report(sampler, ids.data(), count_of(ids), &facts);
  winnow_sampler_free(sampler);
  return {{"refused_sample", status == WINNOW_REFUSED ? winnow_last_error_sample() : -1}};
}

json gradient(const json& input) {
  Numbers logits;
  for (const json& row : input.at("logits")) {
    for (const json& one : row) logits.push_back(number(one));
  }
  const Ids label = input.at("label").get<Ids>();
  Numbers score(label.size());
  require_ok(winnow_gradient_bound(logits.data(), count_of(label), count_of(input["logits"][0]), label.data(),
                                   score.data()));
  return {{"score", score}};
}

json criteria(const json& input) {
  const std::string op = input.at("op");
  const auto column = [&](const char* name) { return numbers(input.value(name, json::array())); };
  if (op == "refuse") return refused_sample(input);
  if (op == "grad") return gradient(input);
  if (op == "quantile") {
    double value = 0;
    const Numbers values = column("values");
    require_ok(winnow_quantile(values.data(), count_of(values), input.at("q"), &value));
    return {{"value", value}};
  }
  if (op == "stall") {
    const Numbers io_wait = column("io_wait");
    const Numbers compute = column("compute");
    double stall = 0;
    const char* names = nullptr;
    require_ok(winnow_workload(io_wait.data(), compute.data(), count_of(io_wait), input.at("io_bound_at"),
                               &stall, &names));
    return {{"stall", stall}, {"criteria", split(names)}};
  }
  const Numbers p_target = column("p_target"), p_other = column("p_other"), loss = column("loss");
  const Numbers load_time = column("load_time"), size = column("size");
  Numbers score(std::max({p_target.size(), loss.size(), size.size()}));
  const int64_t n = count_of(score);
  if (op == "entropy" && !loss.empty()) require_ok(winnow_entropy_from_loss(loss.data(), n, score.data()));
  if (op == "entropy" && loss.empty()) require_ok(winnow_entropy(p_target.data(), n, score.data()));
  if (op == "margin") require_ok(winnow_margin(p_target.data(), p_other.data(), n, score.data()));
  if (op == "io") require_ok(winnow_io(load_time.data(), size.data(), n, input.at("alpha"), score.data()));
  return {{"score", score}};
}

json thresholds(const json& input) {
  json pars = json::array(), values = json::array(), important = json::array();
  double threshold = NAN;
  for (const json& epoch : input.at("scores")) {
    const Numbers scores = numbers(epoch);
    double par = NAN;
    require_ok(winnow_threshold(scores.data(), count_of(scores), input.at("beta"), input.at("gamma"),
                                input.at("equal_point"), &threshold, &par));
    const double* column = scores.data();
    Bytes votes(scores.size()), won(scores.size());
    require_ok(winnow_vote(&column, &threshold, 1, count_of(scores), input.at("orientation") == "lowest",
                           votes.data(), won.data()));
    pars.push_back(par);
    values.push_back(threshold);
    important.push_back(ids_where(won, [](uint8_t one) { return one != 0; }));
  }
  return {{"par", pars}, {"threshold", values}, {"important", important}};
}

json vote(const json& input) {
  const bool lowest = input.at("orientation") == "lowest";
  std::vector<Numbers> columns;
  Numbers limits;
  std::vector<const double*> pointers;
  json got{{"threshold", json::object()}, {"category1", json::object()}};
  for (const char* name : {"entropy", "margin", "io"}) {
    columns.push_back(numbers(input.at(name)));
    double threshold = NAN, par = NAN;
    const double gamma = input.at(std::string(name) == "io" ? "gamma_io" : "gamma");
    const int64_t n = count_of(columns.back());
    require_ok(
        winnow_threshold(columns.back().data(), n, 0.5, gamma, input.at("equal_point"), &threshold, &par));
    const double* column = columns.back().data();
    Bytes votes(columns.back().size()), won(columns.back().size());
    require_ok(winnow_vote(&column, &threshold, 1, n, lowest, votes.data(), won.data()));
    limits.push_back(threshold);
    got["threshold"][name] = threshold;
    got["category1"][name] = ids_where(won, [](uint8_t one) { return one != 0; });
  }
  for (const Numbers& column : columns) pointers.push_back(column.data());
  Bytes votes(columns[0].size()), won(columns[0].size());
  require_ok(
      winnow_vote(pointers.data(), limits.data(), 3, count_of(votes), lowest, votes.data(), won.data()));
  got["votes"] = Ids(votes.begin(), votes.end());
  got["important"] = ids_where(won, [](uint8_t one) { return one != 0; });
  return got;
}

json buckets(const json& input) {
  const int64_t samples = input.at("samples");
  const json& names = input.at("criteria");
  const std::string text =
      parameters(input.at("parameters"),
                 {"profile_epochs", "beta", "gamma", "gamma_io", "equal_point", "min_in_process", "k",
                  "plateau_epsilon", "recall_fraction", "recall", "io_weight", "max_missed", "seed"});
  winnow_buckets* handle = winnow_buckets_new(samples, joined(names).c_str(), text.c_str());
  if (handle == nullptr) throw std::runtime_error(winnow_last_error());
  std::vector<Numbers> columns(names.size(), Numbers(static_cast<std::size_t>(samples), NAN));
  json epochs = json::array();
  for (const json& epoch : input.at("epochs")) {
    const Ids trained = epoch.at("trained").get<Ids>();
    std::vector<const double*> pointers;
    for (std::size_t c = 0; c < names.size(); ++c) {
      const Numbers scores = numbers(epoch.at("scores").at(names[c].get<std::string>()));
      for (std::size_t i = 0; i < trained.size(); ++i)
        columns[c][static_cast<std::size_t>(trained[i])] = scores[i];
      pointers.push_back(columns[c].data());
    }
    require_ok(winnow_buckets_trained(handle, trained.data(), count_of(trained)));
    winnow_epoch_end end{};
    require_ok(winnow_buckets_end_epoch(handle, pointers.data(), number(epoch.at("accuracy")), &end));
    json got{{"out", Ids(end.out, end.out + end.out_count)},
             {"plateau", end.plateau != 0},
             {"recall_count", end.recalled_count}};
    for (std::size_t c = 0; c < names.size(); ++c)
      got["threshold"][names[c].get<std::string>()] = or_null(end.thresholds[c]);
    for (const int waiting : {0, 1}) {
      const Ids ids = collected(samples, [&](int64_t* out, int64_t* count) {
        return winnow_buckets_list(handle, waiting, out, count);
      });
      got[waiting ? "waiting" : "in_process"] = ids;
      got[waiting ? "waiting_count" : "in_process_count"] = ids.size();
    }
    epochs.push_back(got);
  }
  winnow_buckets_free(handle);
  return {{"epochs", epochs}};
}

json groups(const json& input) {
  std::vector<uint64_t> hash;
  for (const json& one : input.at("hash")) hash.push_back(std::stoull(one.get<std::string>(), nullptr, 16));
  const Ids label = input.at("label").get<Ids>();
  const int64_t n = count_of(hash);
  winnow_groups* handle = winnow_groups_new(hash.data(), label.data(), nullptr, nullptr, n,
                                            parameters(input, {"max_distance", "max_group"}).c_str());
  if (handle == nullptr) throw std::runtime_error(winnow_last_error());
  Ids representative(hash.size());
  require_ok(winnow_groups_representatives(handle, representative.data()));
  std::map<int64_t, Ids> members;
  for (int64_t i = 0; i < n; ++i) members[representative[static_cast<std::size_t>(i)]].push_back(i);
  json listed = json::array();
  for (const auto& [first, ids] : members) listed.push_back(ids);

  const Ids order = input.at("epoch_order").get<Ids>();
  const Ids kept = collected(n, [&](int64_t* out, int64_t* count) {
    return winnow_groups_rremove(handle, order.data(), count_of(order), out, count);
  });
  Bytes cached(hash.size());
  for (const int64_t id : input.at("cached").get<Ids>()) cached[static_cast<std::size_t>(id)] = 1;
  const Ids requests = input.at("requests").get<Ids>();
  json candidates = json::array();
  for (const int64_t request : requests) {
    candidates.push_back(collected(n, [&](int64_t* out, int64_t* count) {
      return winnow_groups_candidates(handle, request, cached.data(), out, count);
    }));
  }
  Ids delivered(requests.size());
  require_ok(winnow_groups_rrepeat(handle, requests.data(), count_of(requests), cached.data(),
                                   input.value("max_repeats", int64_t{4}), delivered.data()));
  winnow_groups_free(handle);
  return {{"representative", representative},
          {"groups", listed},
          {"rremove_kept", kept},
          {"rrepeat_candidates", candidates},
          {"rrepeat_delivered", delivered}};
}

json phash(const json& input) {
  Bytes luma;
  for (const json& row : input.at("luma")) {
    for (const json& one : row) luma.push_back(one.get<uint8_t>());
  }
  uint64_t hash = 0;
  uint8_t flat = 0;
  require_ok(winnow_phash(luma.data(), count_of(luma), &hash, &flat));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return {{"hash", text}, {"flat", flat != 0}};
}

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
        parts.push_back(collected(count_of(order), [&](int64_t* out, int64_t* count) {
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

json run_case(const std::string& algorithm, const json& input) {
  if (algorithm == "iowa.threshold_vote") return input.at("op") == "vote" ? vote(input) : thresholds(input);
  static const std::map<std::string, json (*)(const json&)> runs{
      {"iowa.criteria", criteria},    {"iowa.bucket_sampler", buckets},
      {"iowa.groups", groups},        {"phash", phash},
      {"dpt.partition", partition},   {"dpt.schedule", schedule},
      {"adaselection", adaselection}, {"random", random},
      {"samplers", samplers},
  };
  const auto run = runs.find(algorithm);
  if (run == runs.end()) throw std::runtime_error("algorithm " + algorithm + " is not known");
  return run->second(input);
}

}  // namespace winnow::golden
