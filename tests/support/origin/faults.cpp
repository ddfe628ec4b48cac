#include "tests/support/origin/faults.h"

#include <stdexcept>

namespace origin {

namespace {

const std::map<std::string, Fault> kByName = {{"fail", Fault::kFail},
                                              {"reset", Fault::kReset},
                                              {"stall", Fault::kStall},
                                              {"truncate", Fault::kTruncate},
                                              {"corrupt", Fault::kCorrupt},
                                              {"trickle", Fault::kTrickle}};

// An idle wire does not save up: at most this much goes at once.
constexpr auto kBurst = std::chrono::milliseconds(2);

}  // namespace

void Faults::set(const nlohmann::json& wishes) {
  for (const auto& [name, value] : wishes.items()) {
    if (name == "latency_ms") {
      latency_ = std::chrono::microseconds(static_cast<std::int64_t>(value.get<double>() * 1000));
    } else if (name == "bandwidth") {
      bytes_per_second_ = value.get<double>();
    } else if (name == "concurrency") {
      concurrency_ = value.get<std::size_t>();
    } else if (const auto fault = kByName.find(name); fault == kByName.end()) {
      throw std::invalid_argument("no such fault: " + name);
    } else if (value.is_null()) {
      rules_.erase(fault->second);
    } else {
      rules_[fault->second] = {.next = value.value("next", std::uint64_t{0}),
                               .every = value.value("every", std::uint64_t{0}),
                               .on = value.value("on", "any")};
      if (fault->second != Fault::kFail) continue;
      fail_status_ = value.value("status", 503);
      fail_region_ = value.value("region", "");
    }
  }
}

Fault Faults::draw(const std::string& operation) {
  for (auto& [fault, rule] : rules_) {
    if (rule.on != "any" && rule.on != operation) continue;
    ++rule.seen;
    if (rule.next > 0) {
      --rule.next;
      return fault;
    }
    if (rule.every > 0 && rule.seen % rule.every == 0) return fault;
  }
  return Fault::kNone;
}

Clock::time_point Faults::reserve(std::size_t bytes, Clock::time_point now) {
  if (bytes_per_second_ <= 0) return now;
  wire_free_at_ = std::max(wire_free_at_, now - kBurst);
  wire_free_at_ += std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(static_cast<double>(bytes) / bytes_per_second_));
  return wire_free_at_;
}

}  // namespace origin
