// Every metric of .winnow/metrics, in Prometheus' text format. The names are an interface: dashboards and
// alerts use them. Counters count from the daemon's start.
#pragma once

#include <string_view>

namespace winnow::metrics {

struct Metric {
  std::string_view name;
  std::string_view help;
};

inline constexpr Metric kFiles{"winnow_snapshot_files", "Regular files in the snapshot."};
inline constexpr Metric kBytes{"winnow_snapshot_bytes", "Bytes of all files in the snapshot."};
inline constexpr Metric kTakenAt{"winnow_snapshot_taken_timestamp_seconds", "When the source was scanned."};
inline constexpr Metric kChangedSince{"winnow_snapshot_changed_files",
                                      "Files noticed to have changed since the snapshot."};
inline constexpr Metric kLeftOut{
    "winnow_snapshot_left_out",
    "Names of the source the mount does not show; label reason: special, unreadable, "
    "reserved, links, empty_names, dot_names, long_names, nul_names, shadowed."};
inline constexpr Metric kRefreshes{"winnow_refreshes_total", "Refreshes; label result: ok, failed."};
inline constexpr Metric kMemoryBudget{"winnow_memory_budget_bytes",
                                      "What --memory allows in the page cache."};
inline constexpr Metric kPageCache{"winnow_page_cache_bytes", "Bytes in the kernel's page cache, at most."};
inline constexpr Metric kPageCacheFiles{"winnow_page_cache_files",
                                        "Files with bytes in the page cache, at most."};
inline constexpr Metric kPageCacheHighWater{"winnow_page_cache_high_water_bytes", "The most it ever was."};
inline constexpr Metric kPushedFiles{"winnow_pushed_files_total", "Files pushed into the page cache."};
inline constexpr Metric kPushedBytes{"winnow_pushed_bytes_total", "Bytes pushed into the page cache."};
inline constexpr Metric kSkippedPushes{"winnow_skipped_pushes_total",
                                       "Pushes left out: unknown file or full queue."};
inline constexpr Metric kDroppedFiles{"winnow_dropped_files_total", "Files dropped from the page cache."};
inline constexpr Metric kDiskBudget{"winnow_disk_budget_bytes", "What --disk allows."};
inline constexpr Metric kDiskBytes{"winnow_disk_bytes", "Bytes the disk tier takes up."};
inline constexpr Metric kDiskFiles{"winnow_disk_files", "Files with bytes in the disk tier."};
inline constexpr Metric kDiskHits{"winnow_disk_hits_total", "Reads answered from the disk tier."};
inline constexpr Metric kDiskMisses{"winnow_disk_misses_total", "Reads the disk tier could not answer."};
inline constexpr Metric kDiskEvictions{"winnow_disk_evictions_total", "Files that left the disk tier for others."};
inline constexpr Metric kDiskTorn{"winnow_disk_torn_total", "Slots found torn or flipped: misses, never served."};
inline constexpr Metric kDiskDropped{"winnow_disk_dropped_writes_total",
                                     "Writes left out: full queue, or writing is off."};
inline constexpr Metric kDiskWriting{"winnow_disk_writing", "1 while the disk tier takes writes, 0 when it is off."};
inline constexpr Metric kWhere{"winnow_data_bytes",
                               "Bytes of the data set; label tier: memory, disk, nowhere (in neither)."};
inline constexpr Metric kPrefetched{"winnow_prefetched_files_total", "Files fetched ahead of their readers."};
inline constexpr Metric kAhead{"winnow_ahead_bytes", "Room taken by what is held for the epoch under way and was not read yet, in bytes."};
inline constexpr Metric kPrefetchLimit{"winnow_prefetch_limit", "Prefetches that may be under way now."};
inline constexpr Metric kOpens{"winnow_opens_total", "Opens observed; the kernel may merge some into one."};
inline constexpr Metric kLostEvents{"winnow_lost_events_total", "Times the queue of opens overflowed."};
inline constexpr Metric kMisses{"winnow_misses_total", "Files a reader waited for."};
inline constexpr Metric kStale{"winnow_stale_files_total",
                               "Files found changed behind the snapshot when fetched."};
inline constexpr Metric kFetches{"winnow_fetches_total", "Reads of the source that brought bytes."};
inline constexpr Metric kFetchedBytes{"winnow_fetched_bytes_total", "Bytes read from the source."};
inline constexpr Metric kFetchesInFlight{"winnow_fetches_in_flight", "Reads of the source under way."};
inline constexpr Metric kFetchRetries{"winnow_fetch_retries_total", "Reads of the source tried again."};
inline constexpr Metric kFetchFailures{"winnow_fetch_failures_total",
                                       "Reads of the source that failed for good."};
inline constexpr Metric kFetchTimeouts{"winnow_fetch_timeouts_total",
                                       "Readers that waited past --source-timeout."};
inline constexpr Metric kRequests{"winnow_fuse_requests_total", "Requests of the kernel; label kind."};
inline constexpr Metric kQueuedNotifications{"winnow_queued_notifications", "Notifications not yet sent."};
inline constexpr Metric kResident{"winnow_daemon_resident_bytes", "The daemon's resident memory."};
inline constexpr Metric kResidentHighWater{"winnow_daemon_high_water_bytes", "The most it ever was."};
inline constexpr Metric kWorkerBound{"winnow_daemon_bound_bytes", "What the daemon's own memory may be."};
inline constexpr Metric kDeaths{"winnow_worker_deaths_total",
                                "Workers that died; label how: crash, hang, other."};
inline constexpr Metric kRemounts{"winnow_remounts_total", "Times a cut-off mount was mounted anew."};
inline constexpr Metric kPoisoned{"winnow_poisoned_requests_total",
                                  "Requests that crashed two workers and got an error."};
inline constexpr Metric kCpu{"winnow_daemon_cpu_seconds_total", "The daemon's processor time."};
inline constexpr Metric kUptime{"winnow_uptime_seconds", "Since the daemon started."};

}  // namespace winnow::metrics
