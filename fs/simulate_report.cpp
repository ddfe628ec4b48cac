#include "fs/simulate_report.h"

#include <algorithm>
#include <cstdio>

#include "fs/csv.h"
#include "fs/svg_plot.h"
#include "fs/units.h"

namespace winnow {
namespace {

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

using Row = std::vector<std::string>;

// Names to the left, numbers to the right.
std::string aligned(const std::vector<Row>& rows, std::size_t left_columns) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      if (i > 0) text += "  ";
      text += i < left_columns ? row[i] + gap : gap + row[i];
    }
    text += '\n';
  }
  return text;
}

}  // namespace

double SimulationReport::hit_share(const SimulationRun& run) const {
  return share(run.counts.hits, reads - first_reads);
}

std::string as_table(const SimulationReport& report) {
  std::string text = report.trace + ": " + std::to_string(report.reads) + " reads of " +
                     std::to_string(report.files) + " files (" + format_size(report.bytes) + ") in " +
                     std::to_string(report.epochs) + (report.epochs == 1 ? " epoch" : " epochs") +
                     "; exact hits are of the " + std::to_string(report.reads - report.first_reads) +
                     " re-reads\n";
  if (report.scored == 0)
    text += "no file has a score, so all count as important and nothing is substituted\n";
  if (report.sizes_differ) text += "the files differ in size, so belady is a good guess but no bound\n";
  std::vector<Row> rows{{"cache", "policy", "bytes", "hits", "exact", "substituted", "fetched"}};
  std::string last;
  for (const SimulationRun& run : report.runs) {
    rows.push_back({run.size == last ? "" : run.size, run.policy,
                    run.size == last ? "" : format_size(run.cache.bytes), std::to_string(run.counts.hits),
                    number("%.2f %%", 100 * report.hit_share(run)), std::to_string(run.counts.substituted),
                    std::to_string(run.counts.fetched)});
    last = run.size;
  }
  return text + "\n" + aligned(rows, 2) + "\nsimulated in " + number("%.1f s\n", report.seconds);
}

std::string as_csv(const SimulationReport& report) {
  std::string text = "cache,cache_bytes,policy,reads,rereads,hits,exact,substituted,fetched,fetched_bytes\n";
  for (const SimulationRun& run : report.runs) {
    text += csv_cell(run.size) + ',' + std::to_string(run.cache.bytes) + ',' + run.policy + ',' +
            std::to_string(report.reads) + ',' + std::to_string(report.reads - report.first_reads) + ',' +
            std::to_string(run.counts.hits) + ',' + number("%.6f", report.hit_share(run)) + ',' +
            std::to_string(run.counts.substituted) + ',' + std::to_string(run.counts.fetched) + ',' +
            std::to_string(run.counts.fetched_bytes) + '\n';
  }
  return text;
}

nlohmann::ordered_json as_json(const SimulationReport& report) {
  nlohmann::ordered_json json = {{"trace", report.trace},
                                 {"files", report.files},
                                 {"bytes", report.bytes},
                                 {"epochs", report.epochs},
                                 {"reads", report.reads},
                                 {"rereads", report.reads - report.first_reads},
                                 {"scored_files", report.scored},
                                 {"belady_is_the_bound", !report.sizes_differ},
                                 {"seconds", report.seconds}};
  json["results"] = nlohmann::ordered_json::array();
  for (const SimulationRun& run : report.runs) {
    json["results"].push_back({{"cache", run.size},
                               {"cache_bytes", run.cache.bytes},
                               {"policy", run.policy},
                               {"hits", run.counts.hits},
                               {"exact", report.hit_share(run)},
                               {"substituted", run.counts.substituted},
                               {"fetched", run.counts.fetched},
                               {"fetched_bytes", run.counts.fetched_bytes}});
  }
  return json;
}

std::string as_svg(const SimulationReport& report) {
  Plot plot{.title = "Exact hits by cache size",
            .x_label = "cache, of the data set's bytes",
            .y_label = "exact hits, of the re-reads",
            .series = {}};
  for (const SimulationRun& run : report.runs) {
    auto at = std::find_if(plot.series.begin(), plot.series.end(),
                           [&](const PlotSeries& one) { return one.name == run.policy; });
    if (at == plot.series.end())
      at = plot.series.insert(at, {run.policy, {}, run.cache.substitution.has_value()});
    at->points.emplace_back(100 * share(run.cache.bytes, report.bytes), 100 * report.hit_share(run));
  }
  for (PlotSeries& one : plot.series) std::sort(one.points.begin(), one.points.end());
  return to_svg(plot);
}

}  // namespace winnow
