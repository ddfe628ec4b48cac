#include <algorithm>
#include <iostream>
#include <memory>

#include "fs/commands.h"
#include "fs/select_policies.h"
#include "policy/registry.h"

namespace winnow {
namespace {

using Json = nlohmann::ordered_json;

struct SelectArguments {
  std::string table = "-";
  std::vector<std::string> parameters;
  bool json = false;
  SelectOptions options;
};

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_number_float()) return value.is_string() ? value.get<std::string>() : value.dump();
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value.get<double>());
  return text;
}

void print_rows(const Json& rows) {
  std::vector<std::string> names;
  for (const Json& row : rows) {
    for (const auto& [name, value] : row.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<std::vector<std::string>> lines{names};
  for (const Json& row : rows) {
    lines.emplace_back();
    for (const std::string& name : names) lines.back().push_back(row.contains(name) ? cell(row[name]) : "-");
  }
  std::vector<std::size_t> widths(names.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::size_t gap = i + 1 == line.size() ? 1 : widths[i] - width_of(line[i]) + 2;
      std::cout << line[i] << (i + 1 == line.size() ? "\n" : std::string(gap, ' '));
    }
  }
}

void print_decision(const Json& decision) {
  for (const auto& [name, value] : decision.items()) {
    if (name != "samples")
      std::cout << name << ": " << (value.is_string() ? value.get<std::string>() : value.dump()) << "\n";
  }
  std::cout << "\n";
  print_rows(decision.at("samples"));
}

Json described(const PolicyInfo& info) {
  Json policy{{"name", info.name},
              {"kind", name_of(info.kind)},
              {"summary", info.summary},
              {"paper", info.paper},
              {"needs", info.needs}};
  policy["parameters"] = Json::array();
  for (const ParameterInfo& one : info.parameters) {
    policy["parameters"].push_back({{"name", one.name},
                                    {"default", one.fallback},
                                    {"accepted", one.accepted},
                                    {"meaning", one.meaning}});
  }
  return policy;
}

void print_policies(bool json) {
  if (json) {
    Json all = Json::array();
    for (const PolicyEntry& entry : registry()) all.push_back(described(entry.info));
    std::cout << all.dump(2) << "\n";
    return;
  }
  for (const PolicyEntry& entry : registry()) {
    const PolicyInfo& info = entry.info;
    std::cout << info.name << " (" << name_of(info.kind) << "): " << info.summary
              << "\n  paper: " << info.paper << "\n";
    if (!info.needs.empty()) std::cout << "  columns: " << info.needs << "\n";
    for (const ParameterInfo& one : info.parameters) {
      std::cout << "  " << one.name << "=" << one.fallback << "  " << one.meaning << "; " << one.accepted
                << "\n";
    }
    std::cout << "\n";
  }
}

void run_select(const SelectArguments& arguments) {
  SelectOptions options = arguments.options;
  if (options.policy == "help") return print_policies(arguments.json);
  for (const std::string& one : arguments.parameters) options.parameters += one + " ";
  find_policy(options.policy);  // an unknown name is told before a table is waited for
  const Json decision = select_from(SelectTable::read(arguments.table), options);
  if (arguments.json) {
    std::cout << decision.dump(2) << "\n";
  } else {
    print_decision(decision);
  }
}

}  // namespace

void add_select_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("select", "Try a policy on a table of facts and print what it decides");
  auto arguments = std::make_shared<SelectArguments>();
  command
      ->add_option("table", arguments->table,
                   "CSV or JSON with columns like id, path, loss, p_target; - is standard input")
      ->capture_default_str();
  command
      ->add_option("--policy", arguments->options.policy,
                   "The policy's name; help lists all with their parameters")
      ->required();
  command
      ->add_option("--set", arguments->parameters,
                   "A parameter of the policy, as name=value; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--workers", arguments->options.workers, "Workers to deal the samples to")
      ->capture_default_str();
  command
      ->add_option("--equalise", arguments->options.equalise,
                   "Make the workers' parts equally long: pad, drop or none")
      ->capture_default_str();
  command->add_option("--epoch", arguments->options.epoch, "The epoch the decision is for, from 0")
      ->capture_default_str();
  command->add_option("--io-wait", arguments->options.io_wait, "Seconds an epoch waited for samples")
      ->capture_default_str();
  command->add_option("--compute", arguments->options.compute, "Seconds an epoch computed")
      ->capture_default_str();
  command->add_flag("--cross-entropy", arguments->options.cross_entropy,
                    "The losses are cross entropy in nats, without label smoothing");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments] { run_select(*arguments); });
}

}  // namespace winnow
