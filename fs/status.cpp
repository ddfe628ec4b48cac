#include "fs/status.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace winnow {

std::uint64_t hits(const StatusFacts& facts) {
  return facts.opens - std::min(facts.opens, facts.reads.misses);
}

nlohmann::ordered_json to_json(const RecordingFacts& facts) {
  return {{"active", facts.active},   {"file", facts.file},   {"written", facts.written},
          {"lost", facts.lost},       {"bytes", facts.bytes}, {"ended", facts.ended}};
}

std::string to_json(const StatusFacts& facts) {
  nlohmann::ordered_json requests = nlohmann::ordered_json::object();
  std::uint64_t total = 0;
  for (const auto& [kind, count] : facts.requests) {
    requests[std::string(kind)] = count;
    total += count;
  }
  const nlohmann::ordered_json json = {
      {"version", facts.version},
      {"source", facts.source},
      {"mountpoint", facts.mountpoint},
      {"state_dir", facts.state_dir},
      {"control_socket", facts.control_socket},
      {"pid", facts.holder_pid},
      {"holder_pid", facts.holder_pid},
      {"worker_pid", facts.worker_pid},
      {"uptime_seconds", facts.uptime_seconds},
      {"snapshot",
       {{"taken_at", facts.snapshot_taken_at},
        {"files", facts.files},
        {"folders", facts.folders},
        {"symlinks", facts.symlinks},
        {"bytes", facts.total_bytes},
        {"changed_since", facts.amendments},
        {"names_scanned", facts.names_scanned},
        {"refreshes", facts.refreshes},
        {"refresh_failures", facts.refresh_failures},
        {"left_out",
         {{"special", facts.left_out.special},
          {"unreadable", facts.left_out.unreadable},
          {"reserved", facts.left_out.reserved},
          {"links", facts.left_out.links}}}}},
      {"memory",
       {{"budget_bytes", facts.memory_budget_bytes},
        {"page_cache_bytes", facts.resident_bytes},
        {"page_cache_files", facts.resident_files},
        {"page_cache_high_water_bytes", facts.resident_high_water_bytes},
        {"pushed_files", facts.pages.pushed_files},
        {"pushed_bytes", facts.pages.pushed_bytes},
        {"skipped_pushes", facts.pages.skipped_pushes},
        {"dropped_files", facts.pages.dropped_files},
        {"worker_bound_bytes", facts.worker_bound_bytes}}},
      {"reads",
       {{"opens", facts.opens},
        {"hits", hits(facts)},
        {"misses", facts.reads.misses},
        {"stale", facts.reads.stale}}},
      {"tracking",
       {{"mode", facts.track}, {"reason", facts.track_reason}, {"lost_events", facts.lost_events}}},
      {"recording", to_json(facts.recording)},
      {"fetches",
       {{"total", facts.fetches.fetches},
        {"bytes", facts.fetches.bytes},
        {"in_flight", facts.fetches.in_flight},
        {"retries", facts.fetches.retries},
        {"failures", facts.fetches.failures},
        {"timeouts", facts.fetches.timeouts}}},
      {"survival",
       {{"resend", facts.can_resend},
        {"deaths", facts.deaths},
        {"crashes", facts.crashes},
        {"hangs", facts.hangs},
        {"remounts", facts.remounts},
        {"poisoned_answers", facts.poisoned_answers}}},
      {"requests", requests},
      {"requests_total", total},
      {"queued_notifications", facts.queued_notifications},
      {"daemon",
       {{"resident_bytes", facts.daemon_resident_bytes},
        {"high_water_bytes", facts.daemon_high_water_bytes},
        {"cpu_seconds", facts.daemon_cpu_seconds}}}};
  // Paths may hold any bytes; JSON may not.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::uint64_t own_resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t own_high_water_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib << 10;
  }
  return 0;
}

std::uint64_t worker_bound_bytes(std::uint64_t catalogue_bytes) {
  constexpr std::uint64_t kQueuesAndCode = 64 << 20;
  return catalogue_bytes + FetchOptions{}.in_flight_bytes + PageTier::kMaxWaitingBytes + kQueuesAndCode;
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace winnow
