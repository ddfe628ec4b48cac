// What was asked of the origin: a line for each request, and counts. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/origin/request.h"

namespace origin {

class Traffic {
 public:
  void note(const Request& request, const Answer& answer, const char* fault) {
    ++requests_;
    ++by_status_[std::to_string(answer.status)];
    if (!answer.operation.empty()) ++by_operation_[answer.operation];
    if (answer.operation == "get") ++gets_[answer.key];
    if (lines_.size() < kMaxLines)
      lines_.push_back({request.method, request.target, request.header("range"), answer.status, fault});
  }
  void add_bytes(std::size_t sent) { bytes_ += sent; }
  void begin() { most_at_once_ = std::max(most_at_once_, ++being_served_); }
  void end() { --being_served_; }
  void connect() { ++connections_; }
  std::size_t being_served() const { return being_served_; }

  void clear() {
    const auto serving = being_served_;
    *this = Traffic();
    being_served_ = serving;
  }

  nlohmann::json counts() const {
    return {{"requests", requests_},        {"bytes", bytes_},
            {"status", by_status_},         {"operations", by_operation_},
            {"connections", connections_},  {"gets", gets_},
            {"most_at_once", most_at_once_}, {"being_served", being_served_}};
  }
  nlohmann::json log() const {
    nlohmann::json all = nlohmann::json::array();
    for (const Line& line : lines_)
      all.push_back({{"method", line.method},
                     {"target", line.target},
                     {"range", line.range},
                     {"status", line.status},
                     {"fault", line.fault}});
    return all;
  }

 private:
  static constexpr std::size_t kMaxLines = 1'000'000;
  struct Line {
    std::string method, target, range;
    int status;
    const char* fault;
  };

  std::vector<Line> lines_;
  std::map<std::string, std::uint64_t> by_status_, by_operation_, gets_;
  std::uint64_t requests_ = 0, bytes_ = 0, connections_ = 0;
  std::size_t being_served_ = 0, most_at_once_ = 0;
};

}  // namespace origin
