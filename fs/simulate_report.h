// What `winnow simulate` found, for people and for programs. Shares of exact hits are of the re-reads: the
// first read of a file can be a hit under no policy. Substituted reads stand in a column of their own.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policy/simulation.h"

namespace winnow {

struct SimulationRun {
  std::string size;    // as it was asked for: 20%, 10G
  std::string policy;  // with what it may substitute: none+10%
  SimulatedCache cache;
  SimulationCounts counts;
};

struct SimulationReport {
  std::string trace;  // where it came from
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t epochs = 0;
  std::uint64_t reads = 0;
  std::uint64_t first_reads = 0;
  std::uint64_t scored = 0;
  bool sizes_differ = false;
  double seconds = 0;               // that the simulations took
  std::vector<SimulationRun> runs;  // by size, then by policy

  double hit_share(const SimulationRun& run) const;
};

std::string as_table(const SimulationReport& report);
std::string as_csv(const SimulationReport& report);
nlohmann::ordered_json as_json(const SimulationReport& report);
std::string as_svg(const SimulationReport& report);

}  // namespace winnow
