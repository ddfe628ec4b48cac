// What the origin does wrong on command, and how slow it is. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace origin {

using Clock = std::chrono::steady_clock;

enum class Fault { kNone, kFail, kReset, kStall, kTruncate, kCorrupt, kTrickle };

class Faults {
 public:
  // {"latency_ms": 10, "bandwidth": 100000000, "concurrency": 32,
  //  "fail": {"next": 5} or {"every": 3}, with "status" (403: permission denied; 301: it is in "region") and
  //  "on" ("get", "list", ... or "any", the default); the same for "reset", "stall", "truncate", "corrupt"
  //  and "trickle" (some bytes a second); null takes a fault away}
  // Throws std::exception for anything else.
  void set(const nlohmann::json& wishes);
  void clear() { *this = Faults(); }

  std::chrono::microseconds latency() const { return latency_; }
  bool is_over(std::size_t being_served) const { return concurrency_ > 0 && being_served > concurrency_; }

  // What to do to the next answer of this operation; counts.
  Fault draw(const std::string& operation);
  int fail_status() const { return fail_status_; }
  const std::string& fail_region() const { return fail_region_; }

  // When `bytes` more may have left, all connections together; they are taken.
  Clock::time_point reserve(std::size_t bytes, Clock::time_point now);

 private:
  struct Rule {
    std::uint64_t next = 0;   // that many from now on
    std::uint64_t every = 0;  // each k-th
    std::uint64_t seen = 0;
    std::string on = "any";
  };

  std::chrono::microseconds latency_{0};
  double bytes_per_second_ = 0;
  std::size_t concurrency_ = 0;
  int fail_status_ = 503;
  std::string fail_region_;
  std::map<Fault, Rule> rules_;
  Clock::time_point wire_free_at_{};
};

}  // namespace origin
