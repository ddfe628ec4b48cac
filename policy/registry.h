// Every policy, registered once, by name. The command line, the C interface and the Python package find them
// here with their parameters and the paper each comes from; contract tests run over the list.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/admission.h"
#include "policy/batch_selector.h"
#include "policy/eviction_policy.h"
#include "policy/parameters.h"
#include "policy/sampler.h"

namespace winnow {

enum class PolicyKind { sampler, partition, selector, subset, grouping, eviction };

std::string_view name_of(PolicyKind kind);

struct PolicyInfo {
  std::string name;
  PolicyKind kind;
  std::string summary;
  std::string paper;
  std::string needs;  // the facts it decides by, as columns of a table
  std::vector<ParameterInfo> parameters;
};

struct PolicyEntry {
  PolicyInfo info;
  // Of these, those that the kind has: samplers and partitions, selectors, cache policies.
  std::function<std::unique_ptr<Sampler>(std::string_view parameters)> sampler = nullptr;
  std::function<std::unique_ptr<BatchSelector>(std::string_view parameters)> selector = nullptr;
  std::function<std::unique_ptr<EvictionPolicy>(std::string_view parameters)> eviction = nullptr;
  std::function<std::unique_ptr<AdmissionPolicy>()> admission = nullptr;  // goes with the eviction
};

const std::vector<PolicyEntry>& registry();
const PolicyEntry& find_policy(std::string_view name);  // an unknown name is refused with the known ones

// By name and "name=value" parameters; a policy of another kind is refused.
std::unique_ptr<Sampler> make_sampler(std::string_view name, std::string_view parameters);
std::unique_ptr<BatchSelector> make_selector(std::string_view name, std::string_view parameters);
std::unique_ptr<EvictionPolicy> make_eviction(std::string_view name, std::string_view parameters);
std::unique_ptr<AdmissionPolicy> make_admission(std::string_view name);

}  // namespace winnow
