// What a mount tells about itself: one gathering of facts, shown as JSON (status.json, `winnow status
// --json`) and as Prometheus text (metrics). The JSON's keys and the metrics' names are part of the
// interface: README lists them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/fetcher.h"
#include "cache/listing.h"
#include "fs/access_recorder.h"
#include "fs/page_tier.h"
#include "fs/prefetch.h"
#include "fs/read_path.h"
#include "fs/tiers.h"
#include "fs/warm.h"

namespace winnow {

struct StatusFacts {
  std::string version;
  std::string source;
  std::string mountpoint;
  std::string state_dir;
  std::string control_socket;
  int holder_pid = 0;
  int worker_pid = 0;
  std::uint64_t deaths = 0;  // of workers
  std::uint64_t crashes = 0;
  std::uint64_t hangs = 0;
  std::uint64_t remounts = 0;
  std::uint64_t poisoned_answers = 0;
  bool can_resend = false;
  double uptime_seconds = 0;

  std::int64_t snapshot_taken_at = 0;
  std::uint64_t files = 0;
  std::uint64_t folders = 0;
  std::uint64_t symlinks = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t amendments = 0;
  LeftOut left_out;
  std::uint64_t names_scanned = 0;  // by the refresh under way, or the last one
  std::uint64_t refreshes = 0;
  std::uint64_t refresh_failures = 0;

  std::uint64_t memory_budget_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t resident_files = 0;
  std::uint64_t resident_high_water_bytes = 0;
  PageTierCounts pages;

  std::string policy;
  std::string disk_dir;
  DiskCounts disk;  // no budget: there is no disk tier
  TierShares shares;
  PrefetchCounts prefetch;
  WarmProgress warm;

  std::string track;  // what is in force: fanotify, open or off
  std::string track_reason;
  std::uint64_t opens = 0;
  std::uint64_t lost_events = 0;
  RecordingFacts recording;
  ReadCounts reads;
  FetchCounts fetches;
  std::vector<std::pair<std::string_view, std::uint64_t>> requests;
  std::size_t queued_notifications = 0;

  std::uint64_t daemon_resident_bytes = 0;
  std::uint64_t daemon_high_water_bytes = 0;
  std::uint64_t worker_bound_bytes = 0;
  double daemon_cpu_seconds = 0;
};

// Opens that no fetch answered. Tracking may merge opens, so this is a lower bound.
std::uint64_t hits(const StatusFacts& facts);

std::string to_json(const StatusFacts& facts);
nlohmann::json to_json(const WarmProgress& warm);
nlohmann::ordered_json to_json(const RecordingFacts& facts);
std::string to_metrics(const StatusFacts& facts);

// What the worker itself may take, beside the page cache, over a catalogue of so many bytes and files: the bytes of
// fetches under way, of pushes and of writes to the disk that wait, ledgers and plans, and room for queues, buffers of
// requests and code.
std::uint64_t worker_bound_bytes(std::uint64_t catalogue_bytes, std::uint64_t files, bool has_disk);

// What the operating system says of this process.
std::uint64_t own_resident_bytes();
std::uint64_t own_high_water_bytes();
double own_cpu_seconds();

}  // namespace winnow
