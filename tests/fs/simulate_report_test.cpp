#include "fs/simulate_report.h"

#include <gtest/gtest.h>

#include <regex>

#include "fs/svg_plot.h"

namespace winnow {
namespace {

SimulationReport some_report() {
  SimulationReport report{.trace = "t.csv",
                          .files = 100,
                          .bytes = 102'400,
                          .epochs = 3,
                          .reads = 300,
                          .first_reads = 100,
                          .scored = 100,
                          .seconds = 1.25,
                          .runs = {}};
  std::uint64_t hits = 4;
  for (const std::string size : {"10%", "50K"}) {
    const std::uint64_t bytes = size == "10%" ? 10'240 : 51'200;
    report.runs.push_back(
        {size, "lru", {"lru", "", bytes, std::nullopt}, {hits, 0, 300 - hits, 9, bytes}});
    report.runs.push_back({size,
                           "none+10%",
                           {"none", "", bytes, SubstitutionOptions{}},
                           {hits + 3, 20, 280 - hits - 3, 7, bytes}});
    hits *= 25;
  }
  return report;
}

TEST(SimulateReport, TheTableIsAlignedAndCountsSubstitutedReadsApart) {
  EXPECT_EQ(as_table(some_report()),
            "t.csv: 300 reads of 100 files (100.0 KiB) in 3 epochs; exact hits are of the 200 re-reads\n"
            "\n"
            "cache  policy       bytes  hits    exact  substituted  fetched\n"
            "10%    lru       10.0 KiB     4   2.00 %            0      296\n"
            "       none+10%               7   3.50 %           20      273\n"
            "50K    lru       50.0 KiB   100  50.00 %            0      200\n"
            "       none+10%             103  51.50 %           20      177\n"
            "\n"
            "simulated in 1.2 s\n");
}

TEST(SimulateReport, WhatLimitsTheFiguresIsTold) {
  SimulationReport report = some_report();
  report.sizes_differ = true;
  report.scored = 0;
  EXPECT_NE(as_table(report).find("re-reads\nno file has a score, so all count as important and nothing is "
                                  "substituted\nthe files differ in size, so belady is a good guess but no "
                                  "bound\n\ncache"),
            std::string::npos);
}

TEST(SimulateReport, CsvAndJsonSayTheSame) {
  EXPECT_EQ(as_csv(some_report()),
            "cache,cache_bytes,policy,reads,rereads,hits,exact,substituted,fetched,fetched_bytes\n"
            "10%,10240,lru,300,200,4,0.020000,0,296,9\n"
            "10%,10240,none+10%,300,200,7,0.035000,20,273,7\n"
            "50K,51200,lru,300,200,100,0.500000,0,200,9\n"
            "50K,51200,none+10%,300,200,103,0.515000,20,177,7\n");
  const auto json = as_json(some_report());
  EXPECT_EQ(json["rereads"], 200);
  EXPECT_EQ(json["belady_is_the_bound"], true);
  ASSERT_EQ(json["results"].size(), 4U);
  EXPECT_EQ(json["results"][3]["policy"], "none+10%");
  EXPECT_EQ(json["results"][3]["exact"], 0.515);
  EXPECT_EQ(json["results"][3]["substituted"], 20);
}

TEST(SimulateReport, ATraceWithoutReReadsHasNoShare) {
  SimulationReport report = some_report();
  report.first_reads = report.reads;
  EXPECT_EQ(report.hit_share(report.runs[0]), 0);
}

int count(const std::string& text, const std::string& wanted) {
  const std::regex pattern(wanted);
  return static_cast<int>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()));
}

TEST(SvgPlot, HasALineAndALegendForEachPolicyWithinItsAxes) {
  const std::string svg = as_svg(some_report());
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "<polyline "), 2);
  EXPECT_EQ(count(svg, "<polyline [^>]*stroke-dasharray"), 1);
  EXPECT_EQ(count(svg, ">lru</text>"), 1);
  EXPECT_EQ(count(svg, ">none\\+10%</text>"), 1);
  EXPECT_EQ(count(svg, ">50 %</text>"), 2);  // a tick of each axis
  // 50 % of 50 on x is the right end; 51.5 % on y, below the top at 60.
  EXPECT_NE(svg.find("560.0,"), std::string::npos) << svg;
  const std::regex point("([0-9.-]+),([0-9.-]+) ");
  for (std::sregex_iterator at(svg.begin(), svg.end(), point), end; at != end; ++at) {
    EXPECT_GE(std::stod(at->str(1)), 70);
    EXPECT_LE(std::stod(at->str(1)), 560);
    EXPECT_GE(std::stod(at->str(2)), 50);
    EXPECT_LE(std::stod(at->str(2)), 420);
  }
}

TEST(SvgPlot, EscapesNamesAndBearsNothingAtAll) {
  EXPECT_NE(to_svg({.title = "a<b&c", .x_label = "", .y_label = "", .series = {}}).find("a&lt;b&amp;c"),
            std::string::npos);
  EXPECT_EQ(to_svg({.title = "", .x_label = "", .y_label = "", .series = {{"z", {{0, 0}}}}}).find("nan"),
            std::string::npos);
}

}  // namespace
}  // namespace winnow
