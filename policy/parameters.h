// The parameters of a policy: one table per options aggregate gives every field its name, accepted values and
// meaning. From it come the check of an aggregate, the reading of "name=value" text, and the list a user
// sees; so C++, C, Python and the command line refuse the same things with the same sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/error.h"

namespace winnow {

struct ParameterInfo {
  std::string name;
  std::string fallback;  // the default, as text
  std::string accepted;
  std::string meaning;
};

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// "gamma=0.1 variant=auto": pairs separated by spaces, commas or line ends; lists are joined by '+'.
NamedValues parse_named_values(std::string_view text);

double parse_number(std::string_view field, std::string_view text, const Interval& range);
std::int64_t parse_integer(std::string_view field, std::string_view text, const Interval& range);
std::uint64_t parse_seed(std::string_view field, std::string_view text);
bool parse_flag(std::string_view field, std::string_view text);
std::size_t parse_choice(std::string_view field, std::string_view text,
                         const std::vector<std::string>& names);
std::vector<std::string> split_list(std::string_view text);
std::string joined(const std::vector<std::string>& names, std::string_view separator);
std::string integer_range_text(const Interval& range);
void require_integer(std::string_view field, std::int64_t number, const Interval& range);
[[noreturn]] void refuse_unknown_parameter(std::string_view policy, std::string_view name,
                                           const std::vector<std::string>& known);

template <typename Options>
class ParameterTable {
 public:
  explicit ParameterTable(std::string policy) : policy_(std::move(policy)) {}

  ParameterTable& number(std::string name, double Options::*field, Interval range, std::string meaning) {
    return add(
        {name, spelled(Options{}.*field), range.text(), std::move(meaning)},
        [=](Options& o, std::string_view text) { o.*field = parse_number(name, text, range); },
        [=](const Options& o) { require(name, o.*field, range); });
  }

  // A number that may be left to the policy, which `absent` names.
  ParameterTable& optional_number(std::string name, std::optional<double> Options::*field, Interval range,
                                  std::string absent, std::string meaning) {
    return add(
        {name, absent, range.text() + ", or " + absent, std::move(meaning)},
        [=](Options& o, std::string_view text) {
          o.*field = text == absent ? std::nullopt : std::optional(parse_number(name, text, range));
        },
        [=](const Options& o) {
          if (o.*field) require(name, *(o.*field), range);
        });
  }

  ParameterTable& integer(std::string name, std::int64_t Options::*field, Interval range, std::string meaning) {
    return add(
        {name, std::to_string(Options{}.*field), integer_range_text(range), std::move(meaning)},
        [=](Options& o, std::string_view text) { o.*field = parse_integer(name, text, range); },
        [=](const Options& o) { require_integer(name, o.*field, range); });
  }

  ParameterTable& seed(std::uint64_t Options::*field) {
    return add(
        {"seed", "0", "an integer in [0, 2^64)", "all random choices derive from it"},
        [=](Options& o, std::string_view text) { o.*field = parse_seed("seed", text); },
        [](const Options&) {});
  }

  ParameterTable& flag(std::string name, bool Options::*field, std::string meaning) {
    return add(
        {name, Options{}.*field ? "true" : "false", "true or false", std::move(meaning)},
        [=](Options& o, std::string_view text) { o.*field = parse_flag(name, text); }, [](const Options&) {});
  }

  // The enumerators of E count from 0 in the order of `names`.
  template <typename E>
  ParameterTable& choice(std::string name, E Options::*field, std::vector<std::string> names,
                         std::string meaning) {
    const std::string accepted = "one of " + joined(names, ", ");
    const std::string fallback = names.at(static_cast<std::size_t>(Options{}.*field));
    return add(
        {name, fallback, accepted, std::move(meaning)},
        [=](Options& o, std::string_view text) {
          o.*field = static_cast<E>(parse_choice(name, text, names));
        },
        [](const Options&) {});
  }

  template <typename E>
  ParameterTable& list(std::string name, std::vector<E> Options::*field, std::vector<std::string> names,
                       std::string fallback, std::string meaning) {
    const std::string accepted = "different names of " + joined(names, ", ") + ", joined by +";
    const auto check = [=](const Options& o) {
      const auto& chosen = o.*field;
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (chosen[i] == chosen[j])
            refuse(name, accepted, names[static_cast<std::size_t>(chosen[i])] + " twice");
        }
      }
    };
    const auto set = [=](Options& o, std::string_view text) {
      (o.*field).clear();
      if (text == fallback) return o.*field = Options{}.*field, void();
      for (const std::string& one : split_list(text)) {
        (o.*field).push_back(static_cast<E>(parse_choice(name, one, names)));
      }
    };
    return add({name, std::move(fallback), accepted, std::move(meaning)}, set, check);
  }

  // Everything the table of a base aggregate says.
  template <typename Base>
  ParameterTable& include(const ParameterTable<Base>& base) {
    for (const auto& row : base.rows()) rows_.push_back({row.info, row.set, row.check});
    return *this;
  }

  // A rule between fields, checked after each of them.
  ParameterTable& rule(std::function<void(const Options&)> check) {
    rules_.push_back(std::move(check));
    return *this;
  }

  Options parse(std::string_view text) const {
    Options options{};
    for (const auto& [name, text_value] : parse_named_values(text)) find(name).set(options, text_value);
    check(options);
    return options;
  }

  void check(const Options& options) const {
    for (const Row& row : rows_) row.check(options);
    for (const auto& rule : rules_) rule(options);
  }

  std::vector<ParameterInfo> describe() const {
    std::vector<ParameterInfo> infos;
    for (const Row& row : rows_) infos.push_back(row.info);
    return infos;
  }

  struct Row {
    ParameterInfo info;
    std::function<void(Options&, std::string_view)> set;
    std::function<void(const Options&)> check;
  };
  const std::vector<Row>& rows() const { return rows_; }

 private:
  ParameterTable& add(ParameterInfo info, std::function<void(Options&, std::string_view)> set,
                      std::function<void(const Options&)> check) {
    rows_.push_back({std::move(info), std::move(set), std::move(check)});
    return *this;
  }

  const Row& find(std::string_view name) const {
    std::vector<std::string> known;
    for (const Row& row : rows_) {
      if (row.info.name == name) return row;
      known.push_back(row.info.name);
    }
    refuse_unknown_parameter(policy_, name, known);
  }

  std::string policy_;
  std::vector<Row> rows_;
  std::vector<std::function<void(const Options&)>> rules_;
};

}  // namespace winnow
