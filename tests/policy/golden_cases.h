// Runs one case of a golden file through the C interface and gives back what it computed, in the form of the
// file's "expect".
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace winnow::golden {

using Run = nlohmann::json (*)(const nlohmann::json& input);

// By the "algorithm" of the file.
const std::map<std::string, Run>& iowa_runs();
const std::map<std::string, Run>& training_runs();

}  // namespace winnow::golden
