// Sizes and durations as people write them. Errors name the accepted form.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace winnow {

// "512M", "4G", "1.5T", "4096" (bytes), or "25%" of `whole`. Throws std::invalid_argument.
std::uint64_t parse_size(std::string_view text, std::uint64_t whole);

// "90s", "10m", "2h", "1d", "500ms"; "off" and "0" are zero. Throws std::invalid_argument.
std::chrono::milliseconds parse_duration(std::string_view text);

// "20%" or "0.2", of a whole: above 0, at most 1. Throws std::invalid_argument.
double parse_fraction(std::string_view text);

std::string format_size(std::uint64_t bytes);  // "3.4 GiB"
std::uint64_t machine_memory();

}  // namespace winnow
