// Runs a policy once on a table of facts and tells what it decided.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "fs/select_table.h"

namespace winnow {

struct SelectOptions {
  std::string policy;
  std::string parameters;  // "name=value ..."
  std::int64_t workers = 1;
  std::string equalise = "none";
  std::int64_t epoch = 0;
  double io_wait = 0;
  double compute = 0;
  bool cross_entropy = false;
};

// The decision as JSON: "samples" holds a row per sample, the rest is about all of them. Throws PolicyError;
// the sample it names is an id of the table.
nlohmann::ordered_json select_from(const SelectTable& table, const SelectOptions& options);

}  // namespace winnow
