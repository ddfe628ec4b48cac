#include "fs/units.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace winnow {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kGiB = 1ull << 30;

TEST(ParseSize, TakesWhatPeopleWrite) {
  EXPECT_EQ(parse_size("4096", 0), 4096u);
  EXPECT_EQ(parse_size("4096B", 0), 4096u);
  EXPECT_EQ(parse_size("1K", 0), 1024u);
  EXPECT_EQ(parse_size("512M", 0), 512u << 20);
  EXPECT_EQ(parse_size("512m", 0), 512u << 20);
  EXPECT_EQ(parse_size("4G", 0), 4 * kGiB);
  EXPECT_EQ(parse_size("4GiB", 0), 4 * kGiB);
  EXPECT_EQ(parse_size("1.5T", 0), 1536 * kGiB);
  EXPECT_EQ(parse_size("0", 0), 0u);
}

TEST(ParseSize, TakesSharesOfTheWhole) {
  EXPECT_EQ(parse_size("25%", 8 * kGiB), 2 * kGiB);
  EXPECT_EQ(parse_size("12.5%", 8 * kGiB), kGiB);
  EXPECT_EQ(parse_size("100%", 8 * kGiB), 8 * kGiB);
}

TEST(ParseSize, RefusesTheRestAndSaysWhatItTakes) {
  for (const char* text : {"", "G", "4X", "4 G", " 4G", "4G ", "-1", "-4G", "nan", "inf", "1e40", "0x10",
                           "4GB%", "99999999999T", "4Gi", "--"}) {
    try {
      parse_size(text, kGiB);
      ADD_FAILURE() << "took '" << text << "'";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("4G"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("'" + std::string(text) + "'"), std::string::npos);
    }
  }
}

TEST(ParseDuration, TakesWhatPeopleWrite) {
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("90s"), 90s);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("10m"), 10min);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("1d"), 24h);
  EXPECT_EQ(parse_duration("off"), 0ms);
  EXPECT_EQ(parse_duration("0"), 0ms);
}

TEST(ParseDuration, RefusesTheRestAndSaysWhatItTakes) {
  for (const char* text : {"", "10", "m", "10 m", "-5s", "0.1ms", "1y", "inf", "1e30d", "Off"}) {
    try {
      parse_duration(text);
      ADD_FAILURE() << "took '" << text << "'";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("10m"), std::string::npos) << error.what();
    }
  }
}

TEST(FormatSize, IsReadable) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1024), "1.0 KiB");
  EXPECT_EQ(format_size(3 * kGiB + 400 * (kGiB / 1000)), "3.4 GiB");
  EXPECT_EQ(format_size(2048ull << 40), "2.0 PiB");
  EXPECT_EQ(format_size(UINT64_MAX), "16384.0 PiB");
}

TEST(MachineMemory, IsPlausible) {
  EXPECT_GT(machine_memory(), 64ull << 20);
  EXPECT_LT(machine_memory(), 1ull << 50);
}

}  // namespace
}  // namespace winnow
