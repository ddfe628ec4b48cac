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

nlohmann::json to_json(const WarmProgress& warm) {
  return {{"running", warm.running},
          {"files", warm.files},
          {"bytes", warm.bytes},
          {"done_files", warm.done_files},
          {"done_bytes", warm.done_bytes},
          {"found_bytes", warm.found_bytes},
          {"fetched_files", warm.fetched_files},
          {"failed_files", warm.failed_files},
          {"held_files", warm.held_files},
          {"held_bytes", warm.held_bytes},
          {"not_held_files", warm.not_held_files},
          {"compared_files", warm.compared_files},
          {"unreadable_files", warm.unreadable_files},
          {"unreadable_slots", warm.unreadable_slots},
          {"wrong_files", warm.wrong_files},
          {"changed_files", warm.changed_files},
          {"full", warm.full},
          {"not_writing", warm.not_writing},
          {"source_fails", warm.source_fails},
          {"cancelled", warm.cancelled},
          {"on_disk", warm.on_disk},
          {"disk_trouble", warm.disk_trouble}};
}

namespace {

nlohmann::ordered_json to_json(const DiskCounts& disk, const std::string& folder) {
  return {{"directory", folder},
          {"budget_bytes", disk.budget_bytes},
          {"bytes_on_disk", disk.bytes_on_disk},
          {"high_water_bytes", disk.high_water_bytes},
          {"files", disk.samples},
          {"bytes", disk.bytes_stored},
          {"hits", disk.hits},
          {"misses", disk.misses},
          {"writes", disk.writes},
          {"evictions", disk.evictions},
          {"refused", disk.refused},
          {"dropped_writes", disk.dropped_writes},
          {"torn", disk.torn},
          {"bad_records", disk.bad_records},
          {"read_errors", disk.read_errors},
          {"write_errors", disk.write_errors},
          {"outdated", disk.outdated},
          {"queued_bytes", disk.queued_bytes},
          {"writing", disk.writing},
          {"why_not_writing", disk.why_not_writing},
          {"io", disk.io_notice.empty() ? "io_uring" : disk.io_notice}};
}

nlohmann::ordered_json to_json(const TierShares& shares) {
  return {{"memory", {{"files", shares.memory_files}, {"bytes", shares.memory_bytes}}},
          {"disk", {{"files", shares.disk_files}, {"bytes", shares.disk_bytes}}},
          {"nowhere", {{"files", shares.nowhere_files}, {"bytes", shares.nowhere_bytes}}}};
}

nlohmann::ordered_json to_json(const PrefetchCounts& prefetch) {
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const auto& job : prefetch.jobs)
    jobs.push_back({{"process_group", job.group}, {"epoch", job.epoch}, {"files_read", job.reads}});
  return {{"fetched", prefetch.fetched},
          {"failed", prefetch.failed},
          {"ahead_files", prefetch.ahead_files},
          {"ahead_bytes", prefetch.ahead_bytes},
          {"planned_files", prefetch.planned},
          {"at_once", prefetch.at_once},
          {"limit", prefetch.limit},
          {"declared_files_left", prefetch.declared},
          {"jobs", jobs}};
}

}  // namespace

std::string to_json(const StatusFacts& facts) {
  nlohmann::ordered_json requests = nlohmann::ordered_json::object();
  std::uint64_t total = 0;
  for (const auto& [kind, count] : facts.requests) {
    requests[std::string(kind)] = count;
    total += count;
  }
  nlohmann::ordered_json left_out = nlohmann::ordered_json::object();
  for (const LeftOutReason& reason : kLeftOutReasons) left_out[reason.name] = facts.left_out.*reason.count;
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
        {"left_out", left_out}}},
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
      {"policy", facts.policy},
      {"disk", facts.disk.budget_bytes > 0 ? to_json(facts.disk, facts.disk_dir) : nlohmann::ordered_json()},
      {"where", to_json(facts.shares)},
      {"prefetch", to_json(facts.prefetch)},
      {"warm", nlohmann::ordered_json(to_json(facts.warm))},
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
        {"prefetches", facts.fetches.prefetches},
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

std::uint64_t worker_bound_bytes(std::uint64_t catalogue_bytes, std::uint64_t files, bool has_disk) {
  constexpr std::uint64_t kQueuesAndCode = 64 << 20;
  constexpr std::uint64_t kLedgersPerFile = 256;
  const std::uint64_t disk = has_disk ? DiskOptions{}.queue_bytes : 0;
  return catalogue_bytes + FetchOptions{}.in_flight_bytes + PageTier::kMaxWaitingBytes + disk + files * kLedgersPerFile +
         kQueuesAndCode;
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
