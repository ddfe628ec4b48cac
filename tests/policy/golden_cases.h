// Runs one case of a golden file through the C interface and gives back what it computed, in the form of the
// file's "expect".
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace winnow::golden {

nlohmann::json run_case(const std::string& algorithm, const nlohmann::json& input);

}  // namespace winnow::golden
