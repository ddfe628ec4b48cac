#include "fs/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace winnow {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 480;
constexpr double kLeft = 70;
constexpr double kRight = 560;  // the legend stands beyond
constexpr double kTop = 50;
constexpr double kBottom = 420;

// Told apart also without colours: by the marker, and by dashes.
struct Style {
  const char* colour;
  char marker;
};
constexpr std::array<Style, 8> kStyles{{{"#0072b2", 'o'},
                                        {"#d55e00", 's'},
                                        {"#009e73", '^'},
                                        {"#000000", 'x'},
                                        {"#cc79a7", 'd'},
                                        {"#e69f00", 'o'},
                                        {"#56b4e9", 's'},
                                        {"#666666", '^'}}};

__attribute__((format(printf, 1, 2))) std::string formatted(const char* format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

std::string escaped_xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

// 1, 2 or 5 times a power of ten, so that an axis has at most ten ticks.
double tick_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 10)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * power) <= 10) return factor * power;
  }
  return 10 * power;
}

struct Axis {
  double low_pixel;
  double high_pixel;
  double step;
  double top;  // the value at high_pixel

  Axis(double low, double high, double most)
      : low_pixel(low), high_pixel(high), step(tick_step(std::max(most, 1e-3))) {
    top = std::max(step, std::ceil(most / step - 1e-9) * step);
  }
  double at(double value) const { return low_pixel + (high_pixel - low_pixel) * value / top; }
};

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escaped_xml(text) +
         "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return formatted("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2,
                   colour);
}

std::string axes(const Plot& plot, const Axis& x, const Axis& y) {
  std::string out;
  for (int i = 0; i * x.step <= x.top * (1 + 1e-9); ++i) {
    out += line(x.at(i * x.step), kTop, x.at(i * x.step), kBottom, "#dddddd");
    out += text_at(x.at(i * x.step), kBottom + 18, "middle", formatted("%g %%", i * x.step));
  }
  for (int i = 0; i * y.step <= y.top * (1 + 1e-9); ++i) {
    out += line(kLeft, y.at(i * y.step), kRight, y.at(i * y.step), "#dddddd");
    out += text_at(kLeft - 8, y.at(i * y.step) + 4, "end", formatted("%g %%", i * y.step));
  }
  out += line(kLeft, kBottom, kRight, kBottom, "#000000") + line(kLeft, kTop, kLeft, kBottom, "#000000");
  out += text_at((kLeft + kRight) / 2, kBottom + 42, "middle", plot.x_label);
  out += formatted("<g transform=\"translate(20 %.1f) rotate(-90)\">", (kTop + kBottom) / 2) +
         text_at(0, 0, "middle", plot.y_label) + "</g>\n";
  return out + "<g font-size=\"15\">" + text_at((kLeft + kRight) / 2, kTop - 22, "middle", plot.title) +
         "</g>\n";
}

std::string marker(const Style& style, double x, double y) {
  const char* c = style.colour;
  switch (style.marker) {
    case 's':
      return formatted("<rect x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\" fill=\"%s\"/>\n", x - 4, y - 4,
                       c);
    case '^':
      return formatted("<path d=\"M%.1f %.1fl5 9h-10z\" fill=\"%s\"/>\n", x, y - 5, c);
    case 'd':
      return formatted("<path d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\" fill=\"%s\"/>\n", x, y - 5, c);
    case 'x':
      return formatted("<path d=\"M%.1f %.1fl10 10m0 -10l-10 10\" stroke=\"%s\" stroke-width=\"2\"/>\n",
                       x - 5, y - 5, c);
    default:
      return formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"/>\n", x, y, c);
  }
}

std::string stroke(const Style& style, bool dashed) {
  return formatted("fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s", style.colour,
                   dashed ? " stroke-dasharray=\"6 4\"" : "");
}

}  // namespace

std::string to_svg(const Plot& plot) {
  double most_x = 0;
  double most_y = 0;
  for (const PlotSeries& one : plot.series) {
    for (const auto& [x, y] : one.points) {
      most_x = std::max(most_x, x);
      most_y = std::max(most_y, y);
    }
  }
  const Axis x(kLeft, kRight, most_x);
  const Axis y(kBottom, kTop, most_y);
  std::string out = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kWidth, kHeight, kWidth, kHeight);
  out += axes(plot, x, y);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& one = plot.series[i];
    const Style& style = kStyles[i % kStyles.size()];
    const double legend = kTop + 12 + 24 * static_cast<double>(i);
    std::string points;
    std::string markers = marker(style, kRight + 35, legend);
    for (const auto& [px, py] : one.points) {
      points += formatted("%.1f,%.1f ", x.at(px), y.at(py));
      markers += marker(style, x.at(px), y.at(py));
    }
    out += "<polyline points=\"" + points + "\" " + stroke(style, one.dashed) + "/>\n";
    out += formatted("<path d=\"M%.1f %.1fh40\" ", kRight + 15, legend) + stroke(style, one.dashed) + "/>\n";
    out += markers + text_at(kRight + 62, legend + 4, "start", one.name);
  }
  return out + "</svg>\n";
}

}  // namespace winnow
