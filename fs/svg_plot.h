// A line chart as SVG: axes with ticks, a legend, one line with markers per series. Both axes begin at 0 and
// are in percent. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace winnow {

struct PlotSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x ascending, both in percent
  bool dashed = false;
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<PlotSeries> series;
};

std::string to_svg(const Plot& plot);

}  // namespace winnow
