#include "policy/c_boundary.h"
#include "policy/registry.h"

namespace winnow::c {
namespace {

std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + '"';
}

std::string described(const ParameterInfo& parameter) {
  return "{\"name\":" + quoted(parameter.name) + ",\"default\":" + quoted(parameter.fallback) +
         ",\"accepted\":" + quoted(parameter.accepted) + ",\"meaning\":" + quoted(parameter.meaning) + "}";
}

std::string described(const PolicyInfo& info) {
  std::vector<std::string> parameters;
  for (const ParameterInfo& parameter : info.parameters) parameters.push_back(described(parameter));
  return "{\"name\":" + quoted(info.name) + ",\"kind\":" + quoted(name_of(info.kind)) +
         ",\"summary\":" + quoted(info.summary) + ",\"paper\":" + quoted(info.paper) +
         ",\"needs\":" + quoted(info.needs) + ",\"parameters\":[" + joined(parameters, ",") + "]}";
}

}  // namespace
}  // namespace winnow::c

const char* winnow_policies(void) {
  static const std::string json = [] {
    std::vector<std::string> policies;
    for (const auto& entry : winnow::registry()) policies.push_back(winnow::c::described(entry.info));
    return "[" + winnow::joined(policies, ",") + "]";
  }();
  return json.c_str();
}
