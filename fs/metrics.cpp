#include "fs/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <sstream>

#include "fs/status.h"

namespace winnow {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// One metric with one value for each label.
class Page {
 public:
  void gauge(const metrics::Metric& metric, double value) { add(metric, MetricType::Gauge, {}, value); }
  void counter(const metrics::Metric& metric, double value) { add(metric, MetricType::Counter, {}, value); }
  void gauge(const metrics::Metric& metric, const ClientMetric::Label& label, double value) {
    add(metric, MetricType::Gauge, {label}, value);
  }
  void counter(const metrics::Metric& metric, const ClientMetric::Label& label, double value) {
    add(metric, MetricType::Counter, {label}, value);
  }
  std::string text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    return out.str();
  }

 private:
  void add(const metrics::Metric& metric, MetricType type, std::vector<ClientMetric::Label> labels,
           double value) {
    if (families_.empty() || families_.back().name != metric.name) {
      families_.push_back({std::string(metric.name), std::string(metric.help), type, {}});
    }
    ClientMetric& sample = families_.back().metric.emplace_back();
    sample.label = std::move(labels);
    sample.gauge.value = value;
    sample.counter.value = value;
  }

  std::vector<MetricFamily> families_;
};

void add_snapshot(Page& page, const StatusFacts& facts) {
  page.gauge(metrics::kFiles, static_cast<double>(facts.files));
  page.gauge(metrics::kBytes, static_cast<double>(facts.total_bytes));
  page.gauge(metrics::kTakenAt, static_cast<double>(facts.snapshot_taken_at));
  page.gauge(metrics::kChangedSince, static_cast<double>(facts.amendments));
  for (const LeftOutReason& reason : kLeftOutReasons)
    page.gauge(metrics::kLeftOut, {"reason", reason.name}, static_cast<double>(facts.left_out.*reason.count));
  page.counter(metrics::kRefreshes, {"result", "ok"}, static_cast<double>(facts.refreshes));
  page.counter(metrics::kRefreshes, {"result", "failed"}, static_cast<double>(facts.refresh_failures));
}

void add_memory(Page& page, const StatusFacts& facts) {
  page.gauge(metrics::kMemoryBudget, static_cast<double>(facts.memory_budget_bytes));
  page.gauge(metrics::kPageCache, static_cast<double>(facts.resident_bytes));
  page.gauge(metrics::kPageCacheFiles, static_cast<double>(facts.resident_files));
  page.gauge(metrics::kPageCacheHighWater, static_cast<double>(facts.resident_high_water_bytes));
  page.counter(metrics::kPushedFiles, static_cast<double>(facts.pages.pushed_files));
  page.counter(metrics::kPushedBytes, static_cast<double>(facts.pages.pushed_bytes));
  page.counter(metrics::kSkippedPushes, static_cast<double>(facts.pages.skipped_pushes));
  page.counter(metrics::kDroppedFiles, static_cast<double>(facts.pages.dropped_files));
}

void add_disk(Page& page, const StatusFacts& facts) {
  if (facts.disk.budget_bytes == 0) return;
  page.gauge(metrics::kDiskBudget, static_cast<double>(facts.disk.budget_bytes));
  page.gauge(metrics::kDiskBytes, static_cast<double>(facts.disk.bytes_on_disk));
  page.gauge(metrics::kDiskFiles, static_cast<double>(facts.disk.samples));
  page.counter(metrics::kDiskHits, static_cast<double>(facts.disk.hits));
  page.counter(metrics::kDiskMisses, static_cast<double>(facts.disk.misses));
  page.counter(metrics::kDiskEvictions, static_cast<double>(facts.disk.evictions));
  page.counter(metrics::kDiskTorn, static_cast<double>(facts.disk.torn));
  page.counter(metrics::kDiskDropped, static_cast<double>(facts.disk.dropped_writes));
  page.gauge(metrics::kDiskWriting, facts.disk.writing ? 1 : 0);
}

void add_prefetch(Page& page, const StatusFacts& facts) {
  page.gauge(metrics::kWhere, {"tier", "memory"}, static_cast<double>(facts.shares.memory_bytes));
  page.gauge(metrics::kWhere, {"tier", "disk"}, static_cast<double>(facts.shares.disk_bytes));
  page.gauge(metrics::kWhere, {"tier", "nowhere"}, static_cast<double>(facts.shares.nowhere_bytes));
  page.counter(metrics::kPrefetched, static_cast<double>(facts.prefetch.fetched));
  page.gauge(metrics::kAhead, static_cast<double>(facts.prefetch.ahead_bytes));
  page.gauge(metrics::kPrefetchLimit, facts.prefetch.limit);
}

void add_reads(Page& page, const StatusFacts& facts) {
  page.counter(metrics::kOpens, static_cast<double>(facts.opens));
  page.counter(metrics::kLostEvents, static_cast<double>(facts.lost_events));
  page.counter(metrics::kMisses, static_cast<double>(facts.reads.misses));
  page.counter(metrics::kStale, static_cast<double>(facts.reads.stale));
  page.counter(metrics::kFetches, static_cast<double>(facts.fetches.fetches));
  page.counter(metrics::kFetchedBytes, static_cast<double>(facts.fetches.bytes));
  page.gauge(metrics::kFetchesInFlight, static_cast<double>(facts.fetches.in_flight));
  page.counter(metrics::kFetchRetries, static_cast<double>(facts.fetches.retries));
  page.counter(metrics::kFetchFailures, static_cast<double>(facts.fetches.failures));
  page.counter(metrics::kFetchTimeouts, static_cast<double>(facts.fetches.timeouts));
}

void add_daemon(Page& page, const StatusFacts& facts) {
  for (const auto& [kind, count] : facts.requests) {
    page.counter(metrics::kRequests, {"kind", std::string(kind)}, static_cast<double>(count));
  }
  page.gauge(metrics::kQueuedNotifications, static_cast<double>(facts.queued_notifications));
  page.gauge(metrics::kResident, static_cast<double>(facts.daemon_resident_bytes));
  page.gauge(metrics::kResidentHighWater, static_cast<double>(facts.daemon_high_water_bytes));
  page.gauge(metrics::kWorkerBound, static_cast<double>(facts.worker_bound_bytes));
  page.counter(metrics::kCpu, facts.daemon_cpu_seconds);
  page.gauge(metrics::kUptime, facts.uptime_seconds);
}

void add_survival(Page& page, const StatusFacts& facts) {
  const std::uint64_t known = std::min(facts.deaths, facts.crashes + facts.hangs);
  page.counter(metrics::kDeaths, {"how", "crash"}, static_cast<double>(facts.crashes));
  page.counter(metrics::kDeaths, {"how", "hang"}, static_cast<double>(facts.hangs));
  page.counter(metrics::kDeaths, {"how", "other"}, static_cast<double>(facts.deaths - known));
  page.counter(metrics::kRemounts, static_cast<double>(facts.remounts));
  page.counter(metrics::kPoisoned, static_cast<double>(facts.poisoned_answers));
}

}  // namespace

std::string to_metrics(const StatusFacts& facts) {
  Page page;
  add_snapshot(page, facts);
  add_memory(page, facts);
  add_disk(page, facts);
  add_prefetch(page, facts);
  add_reads(page, facts);
  add_daemon(page, facts);
  add_survival(page, facts);
  return page.text();
}

}  // namespace winnow
