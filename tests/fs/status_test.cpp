#include "fs/status.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "fs/metrics.h"

namespace winnow {
namespace {

// Every number different, so that no two can be mixed up unseen.
StatusFacts some_facts() {
  StatusFacts facts;
  facts.version = "0.1.0";
  facts.source = "/data";
  facts.mountpoint = "/mnt";
  facts.state_dir = "/state";
  facts.control_socket = "/state/control";
  facts.holder_pid = 101;
  facts.worker_pid = 138;
  facts.deaths = 439;
  facts.crashes = 140;
  facts.hangs = 141;
  facts.remounts = 142;
  facts.poisoned_answers = 143;
  facts.daemon_high_water_bytes = 144;
  facts.worker_bound_bytes = 145;
  facts.uptime_seconds = 102.5;
  facts.snapshot_taken_at = 1'700'000'103;
  facts.files = 104;
  facts.folders = 105;
  facts.symlinks = 106;
  facts.total_bytes = 123'456'789'012'107;
  facts.amendments = 108;
  facts.left_out = {.special = 109,
                    .unreadable = 110,
                    .reserved = 111,
                    .links = 112,
                    .empty_names = 151,
                    .dot_names = 152,
                    .long_names = 153,
                    .nul_names = 154,
                    .shadowed = 155};
  facts.refreshes = 113;
  facts.refresh_failures = 114;
  facts.memory_budget_bytes = 115;
  facts.resident_bytes = 116;
  facts.resident_files = 117;
  facts.resident_high_water_bytes = 118;
  facts.pages = {.pushed_files = 119, .pushed_bytes = 120, .skipped_pushes = 121, .dropped_files = 122};
  facts.policy = "lru";
  facts.disk_dir = "/disk";
  facts.disk = {.samples = 162,
                .bytes_on_disk = 161,
                .budget_bytes = 160,
                .hits = 163,
                .misses = 164,
                .torn = 166,
                .dropped_writes = 167,
                .evictions = 165};
  facts.shares = {.memory_bytes = 168, .disk_bytes = 169, .nowhere_bytes = 170};
  facts.prefetch = {.fetched = 171, .ahead_bytes = 172, .limit = 173};
  facts.prefetch.jobs = {{.group = 174, .epoch = 175, .reads = 176}};
  facts.warm = {.running = true, .files = 177, .done_files = 178};
  facts.track = "fanotify";
  facts.track_reason = "because \"so\"";
  facts.opens = 1230;
  facts.lost_events = 124;
  facts.recording = {
      .active = true, .file = "/t.csv", .written = 146, .lost = 147, .bytes = 148, .ended = "full"};
  facts.reads = {.misses = 125, .stale = 126};
  facts.fetches = {
      .fetches = 127, .bytes = 128, .retries = 129, .failures = 130, .timeouts = 131, .in_flight = 132};
  facts.requests = {{"lookup", 133}, {"read", 134}};
  facts.queued_notifications = 135;
  facts.daemon_resident_bytes = 136;
  facts.daemon_cpu_seconds = 137.25;
  return facts;
}

std::map<std::string, double> samples(const std::string& text) {
  std::map<std::string, double> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t blank = line.rfind(' ');
    EXPECT_TRUE(found.emplace(line.substr(0, blank), std::stod(line.substr(blank + 1))).second) << line;
  }
  return found;
}

TEST(Status, TheJsonHoldsEveryFact) {
  const auto json = nlohmann::json::parse(to_json(some_facts()));
  EXPECT_EQ(json["version"], "0.1.0");
  EXPECT_EQ(json["source"], "/data");
  EXPECT_EQ(json["mountpoint"], "/mnt");
  EXPECT_EQ(json["state_dir"], "/state");
  EXPECT_EQ(json["control_socket"], "/state/control");
  EXPECT_EQ(json["pid"], 101);
  EXPECT_EQ(json["holder_pid"], 101);
  EXPECT_EQ(json["worker_pid"], 138);
  EXPECT_EQ(json["survival"]["deaths"], 439);
  EXPECT_EQ(json["survival"]["crashes"], 140);
  EXPECT_EQ(json["survival"]["hangs"], 141);
  EXPECT_EQ(json["survival"]["remounts"], 142);
  EXPECT_EQ(json["survival"]["poisoned_answers"], 143);
  EXPECT_EQ(json["survival"]["resend"], false);
  EXPECT_EQ(json["daemon"]["high_water_bytes"], 144);
  EXPECT_EQ(json["memory"]["worker_bound_bytes"], 145);
  EXPECT_EQ(json["uptime_seconds"], 102.5);
  EXPECT_EQ(json["snapshot"]["taken_at"], 1'700'000'103);
  EXPECT_EQ(json["snapshot"]["files"], 104);
  EXPECT_EQ(json["snapshot"]["folders"], 105);
  EXPECT_EQ(json["snapshot"]["symlinks"], 106);
  EXPECT_EQ(json["snapshot"]["bytes"], 123'456'789'012'107);
  EXPECT_EQ(json["snapshot"]["changed_since"], 108);
  EXPECT_EQ(json["snapshot"]["left_out"], (nlohmann::json{{"special", 109},
                                                          {"unreadable", 110},
                                                          {"reserved", 111},
                                                          {"links", 112},
                                                          {"empty_names", 151},
                                                          {"dot_names", 152},
                                                          {"long_names", 153},
                                                          {"nul_names", 154},
                                                          {"shadowed", 155}}));
  EXPECT_EQ(json["snapshot"]["refreshes"], 113);
  EXPECT_EQ(json["snapshot"]["refresh_failures"], 114);
  EXPECT_EQ(json["memory"]["budget_bytes"], 115);
  EXPECT_EQ(json["memory"]["page_cache_bytes"], 116);
  EXPECT_EQ(json["memory"]["page_cache_files"], 117);
  EXPECT_EQ(json["memory"]["page_cache_high_water_bytes"], 118);
  EXPECT_EQ(json["memory"]["pushed_files"], 119);
  EXPECT_EQ(json["memory"]["pushed_bytes"], 120);
  EXPECT_EQ(json["memory"]["skipped_pushes"], 121);
  EXPECT_EQ(json["memory"]["dropped_files"], 122);
  EXPECT_EQ(json["policy"], "lru");
  EXPECT_EQ(json["disk"]["directory"], "/disk");
  EXPECT_EQ(json["disk"]["budget_bytes"], 160);
  EXPECT_EQ(json["disk"]["bytes_on_disk"], 161);
  EXPECT_EQ(json["disk"]["torn"], 166);
  EXPECT_EQ(json["disk"]["writing"], true);
  EXPECT_EQ(json["where"]["memory"]["bytes"], 168);
  EXPECT_EQ(json["where"]["disk"]["bytes"], 169);
  EXPECT_EQ(json["where"]["nowhere"]["bytes"], 170);
  EXPECT_EQ(json["prefetch"]["fetched"], 171);
  EXPECT_EQ(json["prefetch"]["ahead_bytes"], 172);
  EXPECT_EQ(json["prefetch"]["jobs"][0], (nlohmann::json{{"process_group", 174}, {"epoch", 175}, {"files_read", 176}}));
  EXPECT_EQ(json["warm"]["done_files"], 178);
  EXPECT_EQ(json["tracking"]["mode"], "fanotify");
  EXPECT_EQ(json["tracking"]["reason"], "because \"so\"");
  EXPECT_EQ(json["tracking"]["lost_events"], 124);
  EXPECT_EQ(json["recording"], (nlohmann::json{{"active", true},
                                               {"file", "/t.csv"},
                                               {"written", 146},
                                               {"lost", 147},
                                               {"bytes", 148},
                                               {"ended", "full"}}));
  EXPECT_EQ(json["reads"]["opens"], 1230);
  EXPECT_EQ(json["reads"]["hits"], 1230 - 125);
  EXPECT_EQ(json["reads"]["misses"], 125);
  EXPECT_EQ(json["reads"]["stale"], 126);
  EXPECT_EQ(json["fetches"]["total"], 127);
  EXPECT_EQ(json["fetches"]["bytes"], 128);
  EXPECT_EQ(json["fetches"]["retries"], 129);
  EXPECT_EQ(json["fetches"]["failures"], 130);
  EXPECT_EQ(json["fetches"]["timeouts"], 131);
  EXPECT_EQ(json["fetches"]["in_flight"], 132);
  EXPECT_EQ(json["requests"], (nlohmann::json{{"lookup", 133}, {"read", 134}}));
  EXPECT_EQ(json["requests_total"], 267);
  EXPECT_EQ(json["queued_notifications"], 135);
  EXPECT_EQ(json["daemon"]["resident_bytes"], 136);
  EXPECT_EQ(json["daemon"]["cpu_seconds"], 137.25);
}

TEST(Status, TheJsonIsValidWhateverAPathHolds) {
  StatusFacts facts = some_facts();
  facts.source = "/caf\xe9/\xff\n\"\\";
  EXPECT_FALSE(nlohmann::json::parse(to_json(facts), nullptr, false).is_discarded());
  EXPECT_FALSE(nlohmann::json::parse(to_json(StatusFacts{}), nullptr, false).is_discarded());
}

TEST(Status, HitsNeverGoBelowZero) {
  StatusFacts facts;
  facts.opens = 5;
  facts.reads.misses = 9;
  EXPECT_EQ(hits(facts), 0u);
}

TEST(Metrics, HoldEveryFact) {
  const auto found = samples(to_metrics(some_facts()));
  const std::map<std::string, double> expected = {{"winnow_snapshot_files", 104},
                                                  {"winnow_snapshot_bytes", 123'456'789'012'107},
                                                  {"winnow_snapshot_taken_timestamp_seconds", 1'700'000'103},
                                                  {"winnow_snapshot_changed_files", 108},
                                                  {"winnow_snapshot_left_out{reason=\"special\"}", 109},
                                                  {"winnow_snapshot_left_out{reason=\"unreadable\"}", 110},
                                                  {"winnow_snapshot_left_out{reason=\"reserved\"}", 111},
                                                  {"winnow_snapshot_left_out{reason=\"links\"}", 112},
                                                  {"winnow_snapshot_left_out{reason=\"empty_names\"}", 151},
                                                  {"winnow_snapshot_left_out{reason=\"dot_names\"}", 152},
                                                  {"winnow_snapshot_left_out{reason=\"long_names\"}", 153},
                                                  {"winnow_snapshot_left_out{reason=\"nul_names\"}", 154},
                                                  {"winnow_snapshot_left_out{reason=\"shadowed\"}", 155},
                                                  {"winnow_refreshes_total{result=\"ok\"}", 113},
                                                  {"winnow_refreshes_total{result=\"failed\"}", 114},
                                                  {"winnow_memory_budget_bytes", 115},
                                                  {"winnow_page_cache_bytes", 116},
                                                  {"winnow_page_cache_files", 117},
                                                  {"winnow_page_cache_high_water_bytes", 118},
                                                  {"winnow_pushed_files_total", 119},
                                                  {"winnow_pushed_bytes_total", 120},
                                                  {"winnow_skipped_pushes_total", 121},
                                                  {"winnow_dropped_files_total", 122},
                                                  {"winnow_opens_total", 1230},
                                                  {"winnow_lost_events_total", 124},
                                                  {"winnow_misses_total", 125},
                                                  {"winnow_stale_files_total", 126},
                                                  {"winnow_fetches_total", 127},
                                                  {"winnow_fetched_bytes_total", 128},
                                                  {"winnow_fetch_retries_total", 129},
                                                  {"winnow_fetch_failures_total", 130},
                                                  {"winnow_fetch_timeouts_total", 131},
                                                  {"winnow_fetches_in_flight", 132},
                                                  {"winnow_fuse_requests_total{kind=\"lookup\"}", 133},
                                                  {"winnow_fuse_requests_total{kind=\"read\"}", 134},
                                                  {"winnow_queued_notifications", 135},
                                                  {"winnow_daemon_resident_bytes", 136},
                                                  {"winnow_daemon_cpu_seconds_total", 137.25},
                                                  {"winnow_daemon_high_water_bytes", 144},
                                                  {"winnow_daemon_bound_bytes", 145},
                                                  {"winnow_worker_deaths_total{how=\"crash\"}", 140},
                                                  {"winnow_worker_deaths_total{how=\"hang\"}", 141},
                                                  {"winnow_worker_deaths_total{how=\"other\"}", 158},
                                                  {"winnow_remounts_total", 142},
                                                  {"winnow_poisoned_requests_total", 143},
                                                  {"winnow_disk_budget_bytes", 160},
                                                  {"winnow_disk_bytes", 161},
                                                  {"winnow_disk_files", 162},
                                                  {"winnow_disk_hits_total", 163},
                                                  {"winnow_disk_misses_total", 164},
                                                  {"winnow_disk_evictions_total", 165},
                                                  {"winnow_disk_torn_total", 166},
                                                  {"winnow_disk_dropped_writes_total", 167},
                                                  {"winnow_disk_writing", 1},
                                                  {"winnow_data_bytes{tier=\"memory\"}", 168},
                                                  {"winnow_data_bytes{tier=\"disk\"}", 169},
                                                  {"winnow_data_bytes{tier=\"nowhere\"}", 170},
                                                  {"winnow_prefetched_files_total", 171},
                                                  {"winnow_ahead_bytes", 172},
                                                  {"winnow_prefetch_limit", 173},
                                                  {"winnow_uptime_seconds", 102.5}};
  EXPECT_EQ(found, expected);
}

TEST(Metrics, EveryNameOfTheHeaderAppears) {
  std::ifstream header(WINNOW_TEST_SOURCE "/fs/metrics.h");
  ASSERT_TRUE(header);
  const std::string text((std::istreambuf_iterator<char>(header)), {});
  const std::string page = to_metrics(some_facts());
  const std::regex name("\"(winnow_[a-z_]+)\"");
  int names = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match, ++names) {
    EXPECT_NE(page.find("# HELP " + match->str(1) + " "), std::string::npos) << match->str(1);
  }
  EXPECT_GT(names, 20);
}

TEST(Metrics, AreTextAsPrometheusReadsIt) {
  const std::string page = to_metrics(some_facts());
  ASSERT_EQ(page.back(), '\n');
  const std::regex sample(R"(([a-z_]+)(\{[a-z]+="[^"\\]*"\})? -?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?)");
  const std::regex help(R"(# HELP ([a-z_]+) .+)");
  const std::regex type(R"(# TYPE ([a-z_]+) (counter|gauge))");
  std::string family;
  std::string kind;
  std::set<std::string> families;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      family = match[1];
      EXPECT_TRUE(families.insert(family).second) << family << " twice";
    } else if (std::regex_match(line, match, type)) {
      EXPECT_EQ(match[1], family);
      kind = match[2];
      EXPECT_EQ(kind == "counter", family.ends_with("_total")) << family;
    } else {
      EXPECT_TRUE(std::regex_match(line, match, sample)) << line;
      EXPECT_EQ(match[1], family) << "a sample outside its family";
    }
  }
}

TEST(Status, KnowsItsOwnProcess) {
  EXPECT_GT(own_resident_bytes(), 1u << 20);
  EXPECT_GT(own_cpu_seconds(), 0.0);
}

}  // namespace
}  // namespace winnow
