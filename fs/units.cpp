#include "fs/units.h"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <stdexcept>

namespace winnow {

namespace {

struct Quantity {
  double amount = 0;
  std::string_view unit;
};

std::optional<Quantity> split(std::string_view text) {
  Quantity found;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found.amount);
  if (error != std::errc() || !std::isfinite(found.amount) || found.amount < 0) return std::nullopt;
  found.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return found;
}

std::optional<double> size_factor(std::string_view unit, std::uint64_t whole) {
  if (unit.empty() || unit == "B") return 1;
  if (unit == "%") return static_cast<double>(whole) / 100;
  if (unit.ends_with("iB")) unit.remove_suffix(2);
  if (unit.size() != 1) return std::nullopt;
  const std::size_t power = std::string_view("KMGT").find(static_cast<char>(std::toupper(unit[0])));
  if (power == std::string_view::npos) return std::nullopt;
  return std::pow(1024.0, static_cast<double>(power + 1));
}

std::optional<double> duration_factor(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit == "s") return 1'000;
  if (unit == "m") return 60'000;
  if (unit == "h") return 3'600'000;
  if (unit == "d") return 86'400'000;
  return std::nullopt;
}

}  // namespace

std::uint64_t parse_size(std::string_view text, std::uint64_t whole) {
  const auto quantity = split(text);
  const auto factor = quantity ? size_factor(quantity->unit, whole) : std::nullopt;
  const double bytes = factor ? quantity->amount * *factor : -1;
  if (bytes < 0 || bytes > 9e18) {
    throw std::invalid_argument("'" + std::string(text) + "' is not a size; write 512M, 4G, 1T or 25%");
  }
  return static_cast<std::uint64_t>(bytes);
}

double parse_fraction(std::string_view text) {
  const auto quantity = split(text);
  const double share = !quantity                ? -1
                       : quantity->unit == "%"  ? quantity->amount / 100
                       : quantity->unit.empty() ? quantity->amount
                                                : -1;
  if (share <= 0 || share > 1)
    throw std::invalid_argument("'" + std::string(text) + "' is not a share; write 20% or 0.2, at most 100%");
  return share;
}

std::chrono::milliseconds parse_duration(std::string_view text) {
  if (text == "off" || text == "0") return std::chrono::milliseconds(0);
  const auto quantity = split(text);
  const auto factor = quantity ? duration_factor(quantity->unit) : std::nullopt;
  const double milliseconds = factor ? quantity->amount * *factor : -1;
  if (milliseconds < 1 || milliseconds > 3.2e12) {
    throw std::invalid_argument("'" + std::string(text) +
                                "' is not a duration; write 90s, 10m, 2h, 1d or off");
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(milliseconds));
}

std::string format_size(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(kUnits)) {
    amount /= 1024;
    ++unit;
  }
  char text[32];
  snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", amount, kUnits[unit]);
  return text;
}

std::uint64_t machine_memory() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace winnow
