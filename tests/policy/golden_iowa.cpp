#include <cstdio>
#include <map>

#include "tests/policy/golden_cases.h"
#include "tests/policy/golden_json.h"

namespace winnow::golden {
namespace {

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

}  // namespace

const std::map<std::string, Run>& iowa_runs() {
  static const std::map<std::string, Run> runs{
      {"iowa.criteria", criteria},
      {"iowa.threshold_vote",
       [](const json& input) { return input.at("op") == "vote" ? vote(input) : thresholds(input); }},
      {"iowa.bucket_sampler", buckets},
      {"iowa.groups", groups},
      {"phash", phash},
  };
  return runs;
}

}  // namespace winnow::golden
