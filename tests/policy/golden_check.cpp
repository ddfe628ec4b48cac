// golden_check FILE.json...: runs every case of golden files through the C interface, names every value that
// differs and exits 1 if there is one (2 if a file cannot be read).
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/policy/golden_cases.h"

namespace {

using nlohmann::json;

class Comparison {
 public:
  explicit Comparison(double tolerance) : tolerance_(tolerance) {}

  void compare(const std::string& where, const json& expected, const json& got) {
    if (expected.is_object() && got.is_object()) {
      for (const auto& [key, value] : expected.items()) {
        compare(where + "." + key, value, got.contains(key) ? got[key] : json("nothing"));
      }
    } else if (expected.is_array() && got.is_array()) {
      if (expected.size() != got.size()) return differs(where, expected, got);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        compare(where + "[" + std::to_string(i) + "]", expected[i], got[i]);
      }
    } else if (!equal(expected, got)) {
      differs(where, expected, got);
    }
  }

  int differences() const { return differences_; }

 private:
  // Ids, counts, booleans and hashes come as such and match exactly; only real numbers have a tolerance.
  bool equal(const json& expected, const json& got) const {
    if (!got.is_number_float() || !expected.is_number()) return expected == got;
    const double wanted = expected.get<double>();
    return std::abs(got.get<double>() - wanted) <= tolerance_ * std::max(1.0, std::abs(wanted));
  }

  void differs(const std::string& where, const json& expected, const json& got) {
    ++differences_;
    std::cout << where << ": expected " << expected << ", got " << got << "\n";
  }

  double tolerance_;
  int differences_ = 0;
};

winnow::golden::Run run_of(const std::string& algorithm) {
  for (const auto* runs : {&winnow::golden::iowa_runs(), &winnow::golden::training_runs()}) {
    if (const auto found = runs->find(algorithm); found != runs->end()) return found->second;
  }
  throw std::runtime_error("algorithm " + algorithm + " is not known");
}

int check_file(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error(path + ": cannot be read");
  const json file = json::parse(stream);
  const winnow::golden::Run run = run_of(file.at("algorithm").get<std::string>());
  Comparison comparison(file.at("tolerance").get<double>());
  for (const json& one : file.at("cases")) {
    const std::string where = path + ": " + one.at("name").get<std::string>();
    json got;
    try {
      got = run(one.at("input"));
    } catch (const std::exception& error) {
      got = std::string("error: ") + error.what();
    }
    comparison.compare(where, one.at("expect"), got);
  }
  std::cout << path << ": " << file.at("cases").size() << " cases, " << comparison.differences()
            << " differences\n";
  return comparison.differences();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: golden_check FILE.json...\n";
    return 2;
  }
  int differences = 0;
  try {
    for (int i = 1; i < argc; ++i) differences += check_file(argv[i]);
  } catch (const std::exception& error) {
    std::cerr << "golden_check: " << error.what() << "\n";
    return 2;
  }
  return differences == 0 ? 0 : 1;
}
