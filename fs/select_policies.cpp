#include "fs/select_policies.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "policy/adaselection.h"
#include "policy/biggest_loser.h"
#include "policy/dpt_sampler.h"
#include "policy/draw_samplers.h"
#include "policy/draw_weights.h"
#include "policy/groups.h"
#include "policy/iowa_sampler.h"
#include "policy/rank_order.h"
#include "policy/registry.h"

namespace winnow {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

Json number_or_null(double value) { return std::isnan(value) ? Json(nullptr) : Json(value); }

std::string needed_by(const std::string& policy) { return "which " + policy + " decides by"; }

Json ids_of(const SelectTable& table, std::span<const Index> samples) {
  Json ids = Json::array();
  for (const Index sample : samples) ids.push_back(table.id(sample));
  return ids;
}

// A row per sample, with the columns that name it.
Json rows_of(const SelectTable& table) {
  Json rows = Json::array();
  for (Index i = 0; i < table.samples(); ++i) {
    Json row{{"id", table.id(i)}};
    if (table.has("path")) row["path"] = table.texts("path", "")[table.first_row(i)];
    rows.push_back(std::move(row));
  }
  return rows;
}

void add_column(Json& rows, const char* name, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) rows[i][name] = number_or_null(values[i]);
}

bool sets(const SelectOptions& options, std::string_view name) {
  for (const auto& [given, value] : parse_named_values(options.parameters)) {
    if (given == name) return true;
  }
  return false;
}

// The rows of a round that know all of some columns.
struct KnownRows {
  std::vector<Index> samples;
  std::vector<std::vector<double>> columns;

  KnownRows(const SelectTable& table, std::span<const std::size_t> round,
            std::initializer_list<const char*> names) {
    columns.resize(names.size());
    for (const char* name : names) {
      if (!table.has(name)) return;
    }
    for (const std::size_t row : round) {
      std::vector<double> cells;
      for (const char* name : names) {
        if (const std::optional<double> cell = table.number(name, row)) cells.push_back(*cell);
      }
      if (cells.size() < names.size()) continue;
      samples.push_back(table.sample_of(row));
      for (std::size_t c = 0; c < cells.size(); ++c) columns[c].push_back(cells[c]);
    }
  }
  Values values(std::size_t column = 0) const { return std::span<const double>(columns[column]); }
};

// Takes in what a round knows, column by column, because every cell may be missing.
void report_round(Scores& scores, const SelectTable& table, std::span<const std::size_t> round) {
  const KnownRows both(table, round, {"p_target", "p_other"});
  scores.report(both.samples, {.p_target = both.values(0), .p_other = both.values(1), .trained = false});
  if (!table.has("p_other")) {
    const KnownRows target(table, round, {"p_target"});
    scores.report(target.samples, {.p_target = target.values(), .trained = false});
  }
  const KnownRows loss(table, round, {"loss"}), grad(table, round, {"grad"}),
      time(table, round, {"load_time"}), size(table, round, {"size"}), correct(table, round, {"correct"});
  scores.report(loss.samples, {.loss = loss.values(), .trained = false});
  scores.report(grad.samples, {.grad = grad.values(), .trained = false});
  scores.report(time.samples, {.load_time = time.values(), .trained = false});
  scores.report(size.samples, {.size = size.values(), .trained = false});
  std::vector<std::uint8_t> right;
  for (std::size_t i = 0; i < correct.samples.size(); ++i) {
    const double value = correct.columns[0][i];
    if (value != 0 && value != 1) refuse_sample(correct.samples[i], "correct", "0 or 1", value);
    right.push_back(value != 0);
  }
  scores.report(correct.samples, {.correct = right});
}

void place_in_buckets(Buckets& buckets, const SelectTable& table) {
  if (!table.has("bucket")) return;
  for (Index i = 0; i < table.samples(); ++i) {
    const std::string& name = table.texts("bucket", "")[table.first_row(i)];
    if (name == "waiting") {
      buckets.move_out(i);
    } else if (name != "in_process" && !name.empty()) {
      refuse("bucket of sample " + std::to_string(table.id(i)), "in_process or waiting", '"' + name + '"');
    }
  }
}

Groups groups_of(const SelectTable& table, const GroupOptions& options, const std::string& policy) {
  const auto& hashes = table.texts("hash", needed_by(policy));
  const auto& labels = table.texts("label", needed_by(policy));
  std::vector<std::uint64_t> hash;
  std::vector<std::int64_t> label;
  std::map<std::string, std::int64_t> numbers;
  for (Index i = 0; i < table.samples(); ++i) {
    const std::string& text = hashes[table.first_row(i)];
    std::size_t read = 0;
    const bool hex = !text.empty() && text.size() <= 16 &&
                     text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    if (!hex)
      refuse("hash of sample " + std::to_string(table.id(i)), "up to 16 hexadecimal digits",
             '"' + text + '"');
    hash.push_back(std::stoull(text, &read, 16));
    const auto next = static_cast<std::int64_t>(numbers.size());
    label.push_back(numbers.try_emplace(labels[table.first_row(i)], next).first->second);
  }
  return Groups({hash, label}, options);
}

Json order_of(const SelectTable& table, const Sampler& sampler, const Scores& scores,
              const SelectOptions& options, const Groups* groups) {
  EpochRequest request{options.epoch};
  request.groups = groups;
  request.equalise = static_cast<Equalise>(parse_choice("equalise", options.equalise, equalise_names()));
  Json parts = Json::array();
  for (Index worker = 0; worker < options.workers; ++worker) {
    request.worker = {worker, options.workers};
    parts.push_back(ids_of(table, sampler.order(scores, request)));
  }
  if (parts.empty()) check_worker({0, options.workers}, table.samples());
  return options.workers == 1 ? parts[0] : parts;
}

Json iowa(const SelectTable& table, SelectOptions options) {
  // A table is of epochs that were trained, so the first of them already decides.
  if (!sets(options, "profile_epochs")) options.parameters += " profile_epochs=1";
  const IowaOptions parsed = iowa_parameters().parse(options.parameters);
  const bool scored = table.has("p_target") ||
                      (table.has("loss") && (options.cross_entropy || parsed.task == Task::loss_only));
  if (!scored && parsed.criteria.empty()) {
    throw PolicyError(
        "table must have a column p_target (or loss, with --cross-entropy or task=loss_only), " +
        needed_by("iowa"));
  }
  IowaSampler sampler(parsed);
  sampler.set_out_order(OutOrder::worst_first);
  Scores scores(table.samples(), {.cross_entropy = options.cross_entropy});
  place_in_buckets(scores.buckets(), table);
  Json rows = rows_of(table);
  EpochDecision decision;
  for (const auto& round : table.rounds()) {
    report_round(scores, table, round);
    for (const Criterion criterion :
         {Criterion::entropy, Criterion::margin, Criterion::io, Criterion::loss}) {
      std::vector<double> column;
      scores.criterion(criterion, column);
      add_column(rows, name_of(criterion).c_str(), column);
    }
    decision = sampler.end_epoch(scores, {options.io_wait, options.compute});
  }
  Json result{{"policy", "iowa"}};
  for (std::size_t c = 0; c < decision.criteria.size(); ++c) {
    const std::optional<double> threshold = decision.buckets.thresholds[c];
    result["thresholds"][name_of(decision.criteria[c])] = threshold ? Json(*threshold) : Json(nullptr);
  }
  result["out"] = ids_of(table, decision.buckets.out);
  result["plateau"] = decision.buckets.plateau;
  result["recalled"] = ids_of(table, decision.buckets.recalled);
  result["in_process"] = scores.buckets().in_process_count();
  result["waiting"] = scores.buckets().waiting_count();
  const bool grouped = table.has("hash") && table.has("label");
  const std::optional<Groups> groups = grouped ? std::optional(groups_of(table, {}, "iowa")) : std::nullopt;
  result["order"] = order_of(table, sampler, scores, options, groups ? &*groups : nullptr);
  for (Index i = 0; i < table.samples(); ++i) {
    rows[static_cast<std::size_t>(i)]["bucket"] = scores.buckets().waiting(i) ? "waiting" : "in_process";
  }
  result["samples"] = rows;
  return result;
}

Json draws(const SelectTable& table, const SelectOptions& options) {
  const auto sampler = make_sampler(options.policy, options.parameters);
  if (options.policy == "online") table.texts("loss", needed_by("online"));
  if (options.policy == "active_bias") table.texts("p_target", needed_by("active_bias"));
  Scores scores(table.samples(), {.cross_entropy = options.cross_entropy});
  for (const auto& round : table.rounds()) report_round(scores, table, round);
  Json rows = rows_of(table);
  if (options.policy == "online") {
    const OnlineSamplerOptions online = online_parameters().parse(options.parameters);
    std::vector<double> loss(static_cast<std::size_t>(table.samples()));
    for (Index i = 0; i < table.samples(); ++i) loss[static_cast<std::size_t>(i)] = scores.loss(i);
    add_column(rows, "probability",
               online_probabilities(loss, online_pressure({options.epoch, online.epochs,
                                                           online.pressure_start, online.pressure_end})));
  }
  if (options.policy == "active_bias") {
    std::vector<RunningMean> histories;
    for (Index i = 0; i < table.samples(); ++i) histories.push_back(scores.p_target_history(i));
    add_column(rows, "weight",
               active_bias_weights(histories, active_bias_parameters().parse(options.parameters).epsilon));
  }
  return {{"policy", options.policy},
          {"order", order_of(table, *sampler, scores, options, nullptr)},
          {"samples", rows}};
}

Json dpt(const SelectTable& table, const SelectOptions& options) {
  const DptOptions parsed = dpt_parameters().parse(options.parameters);
  table.texts("loss", needed_by("dpt"));
  const std::size_t ignored =
      sets(options, "ignore_epochs") ? static_cast<std::size_t>(parsed.ignore_epochs) : 0;
  std::vector<RunningMean> losses(static_cast<std::size_t>(table.samples()));
  for (std::size_t round = ignored; round < table.rounds().size(); ++round) {
    const KnownRows known(table, table.rounds()[round], {"loss"});
    for (std::size_t i = 0; i < known.samples.size(); ++i) {
      require_of_sample(known.samples[i], "loss", known.columns[0][i], kFinite);
      losses[static_cast<std::size_t>(known.samples[i])].add(known.columns[0][i]);
    }
  }
  std::vector<double> importance(losses.size(), kUnknown);
  renew_importance(importance, parsed.measure, [&](Index i) { return losses[static_cast<std::size_t>(i)]; });
  const std::vector<Index> order =
      parsed.layout == Layout::random
          ? shuffled_indices(table.samples(), sub_seed(parsed.seed, Purpose::partition, options.epoch))
          : rank_descending(importance);
  Json rows = rows_of(table);
  add_column(rows, "importance", importance);
  Json parts = Json::array();
  check_worker({0, options.workers}, table.samples());
  const auto equalise = static_cast<Equalise>(parse_choice("equalise", options.equalise, equalise_names()));
  for (Index worker = 0; worker < options.workers; ++worker) {
    parts.push_back(ids_of(table, part_of(order, parsed.layout, {worker, options.workers}, equalise)));
    for (const Index sample : part_of(order, parsed.layout, {worker, options.workers}, Equalise::none)) {
      rows[static_cast<std::size_t>(sample)]["worker"] = worker;
    }
  }
  return {{"policy", "dpt"}, {"order", ids_of(table, order)}, {"workers", parts}, {"samples", rows}};
}

std::vector<double> column_of(const SelectTable& table, const std::string& name, const std::string& policy) {
  table.texts(name, needed_by(policy));
  std::vector<double> column;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::optional<double> value = table.number(name, row);
    if (!value) refuse(name + " of row " + std::to_string(row + 1), "a number", "an empty cell");
    require_of_sample(table.sample_of(row), name, *value, kFinite);
    column.push_back(*value);
  }
  return column;
}

// The rows are batches one after the other, of the nominal size if one is given.
Json batches(const SelectTable& table, const SelectOptions& options) {
  const auto selector = make_selector(options.policy, options.parameters);
  const std::vector<double> loss = column_of(table, "loss", options.policy);
  const std::vector<double> grad =
      table.has("grad") ? column_of(table, "grad", options.policy) : std::vector<double>{};
  selector->set_epoch(options.epoch);
  const auto* ada = dynamic_cast<const AdaSelection*>(selector.get());
  const std::size_t nominal = ada != nullptr && ada->options().batch > 0
                                  ? static_cast<std::size_t>(ada->options().batch)
                                  : loss.size();
  Json rows = rows_of(table);
  Json steps = Json::array();
  for (std::size_t begin = 0; begin < loss.size(); begin += nominal) {
    const std::size_t size = std::min(nominal, loss.size() - begin);
    const std::span<const double> grads =
        grad.empty() ? std::span<const double>{} : std::span(grad).subspan(begin, size);
    const Selection& selection = selector->select({std::span(loss).subspan(begin, size), grads});
    for (std::size_t i = 0; i < size; ++i) {
      Json& row = rows[static_cast<std::size_t>(table.sample_of(begin + i))];
      row["loss"] = loss[begin + i];
      if (ada != nullptr) row["score"] = ada->detail().score[i];
      row["kept"] = std::find(selection.kept.begin(), selection.kept.end(), static_cast<Index>(i)) !=
                    selection.kept.end();
    }
    Json kept = Json::array();
    for (const Index at : selection.kept)
      kept.push_back(table.id(table.sample_of(begin + static_cast<std::size_t>(at))));
    Json step{{"kept", kept},
              {"step_after", selection.due_after == 0 ? Json(nullptr) : Json(selection.due_after)}};
    if (ada != nullptr) {
      for (std::size_t m = 0; m < ada->options().methods.size(); ++m) {
        step["weights"][method_names()[static_cast<std::size_t>(ada->options().methods[m])]] =
            ada->detail().weights[m];
      }
    }
    steps.push_back(step);
  }
  return {{"policy", options.policy}, {"batches", steps}, {"samples", rows}};
}

Json proxy(const SelectTable& table, const SelectOptions& options) {
  const CoresetOptions parsed = coreset_parameters().parse(options.parameters);
  const std::vector<std::string> names = table.probability_columns();
  if (names.size() < 2)
    throw PolicyError("table must have columns p0, p1 and so on, " + needed_by("coreset"));
  std::vector<double> uncertainty;
  for (Index i = 0; i < table.samples(); ++i) {
    std::vector<double> probabilities;
    for (const std::string& name : names) {
      probabilities.push_back(table.number(name, table.first_row(i)).value_or(kUnknown));
      require_of_sample(i, name, probabilities.back(), kUnit);
    }
    uncertainty.push_back(uncertainty_of(probabilities, parsed.uncertainty));
  }
  const std::vector<Index> chosen = coreset(uncertainty, parsed.fraction);
  Json rows = rows_of(table);
  add_column(rows, "uncertainty", uncertainty);
  for (Json& row : rows) row["chosen"] = false;
  for (const Index sample : chosen) rows[static_cast<std::size_t>(sample)]["chosen"] = true;
  return {{"policy", "coreset"}, {"chosen", ids_of(table, chosen)}, {"samples", rows}};
}

Json grouping(const SelectTable& table, const SelectOptions& options) {
  const Groups groups = groups_of(table, group_parameters().parse(options.parameters), "groups");
  Json rows = rows_of(table);
  Json listed = Json::array();
  for (Index i = 0; i < groups.samples(); ++i) {
    rows[static_cast<std::size_t>(i)]["representative"] = table.id(groups.representative(i));
    rows[static_cast<std::size_t>(i)]["distance"] = groups.distance(i, groups.representative(i));
    if (groups.representative(i) == i) listed.push_back(ids_of(table, groups.members(i)));
  }
  return {{"policy", "groups"}, {"groups", listed}, {"samples", rows}};
}

Json run(const SelectTable& table, const SelectOptions& options) {
  const PolicyInfo& info = find_policy(options.policy).info;
  if (info.name == "iowa") return iowa(table, options);
  switch (info.kind) {
    case PolicyKind::sampler:
      return draws(table, options);
    case PolicyKind::partition:
      return dpt(table, options);
    case PolicyKind::selector:
      return batches(table, options);
    case PolicyKind::subset:
      return proxy(table, options);
    case PolicyKind::grouping:
      return grouping(table, options);
    case PolicyKind::eviction:
      break;
  }
  refuse("policy", "a sampler, selector, partition, subset or grouping",
         info.name + ", which decides in the cache");
}

}  // namespace

Json select_from(const SelectTable& table, const SelectOptions& options) {
  try {
    return run(table, options);
  } catch (const PolicyError& error) {
    if (error.sample() == kNoSample || error.sample() >= table.samples()) throw;
    // The policy counts samples; the user knows them by id.
    std::string sentence = error.what();
    const std::string counted = " of sample " + std::to_string(error.sample()) + " ";
    const std::size_t at = sentence.find(counted);
    const std::int64_t id = table.id(error.sample());
    if (at != std::string::npos)
      sentence.replace(at, counted.size(), " of sample " + std::to_string(id) + " ");
    throw PolicyError(sentence, id);
  }
}

}  // namespace winnow
