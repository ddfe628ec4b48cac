#include "policy/parameters.h"

#include "tests/policy/refusal.h"

namespace winnow {
namespace {

enum class Colour { red, green };

struct Options {
  double rate = 0.3;
  std::int64_t count = 2;
  bool on = false;
  Colour colour = Colour::green;
  std::vector<Colour> colours = {Colour::red};
  std::optional<double> extra;
  std::uint64_t seed = 0;
};

const ParameterTable<Options>& table() {
  static const auto made = ParameterTable<Options>("test")
                               .number("rate", &Options::rate, kFraction, "")
                               .integer("count", &Options::count, {.low = 1, .high = 5}, "")
                               .flag("on", &Options::on, "")
                               .choice("colour", &Options::colour, {"red", "green"}, "")
                               .list("colours", &Options::colours, {"red", "green"}, "red", "")
                               .optional_number("extra", &Options::extra, kNotNegative, "mean", "")
                               .seed(&Options::seed);
  return made;
}

TEST(Parameters, TextSetsFieldsAndLeavesTheOthersAtTheirDefaults) {
  const Options options = table().parse("rate=0.5, on=true\ncolours=green+red seed=18446744073709551615");
  EXPECT_EQ(options.rate, 0.5);
  EXPECT_EQ(options.count, 2);
  EXPECT_TRUE(options.on);
  EXPECT_EQ(options.colours, (std::vector{Colour::green, Colour::red}));
  EXPECT_EQ(options.seed, ~std::uint64_t{0});
  EXPECT_EQ(table().parse("extra=2").extra, 2.0);
  EXPECT_EQ(table().parse("extra=mean").extra, std::nullopt);
}

TEST(Parameters, EveryErrorNamesTheFieldAndWhatItAccepts) {
  const auto refused = [](std::string_view text) { return refusal_of([&] { table().parse(text); }); };
  EXPECT_EQ(refused("rate=0"), "rate must be in (0, 1], got 0");
  EXPECT_EQ(refused("rate=nan"), "rate must be in (0, 1], got nan");
  EXPECT_EQ(refused("rate=1x"), "rate must be in (0, 1], got \"1x\"");
  EXPECT_EQ(refused("count=6"), "count must be an integer in [1, 5], got 6");
  EXPECT_EQ(refused("count=1.5"), "count must be an integer in [1, 5], got \"1.5\"");
  EXPECT_EQ(refused("on=maybe"), "on must be true or false, got \"maybe\"");
  EXPECT_EQ(refused("colour=blue"), "colour must be one of red, green, got \"blue\"");
  EXPECT_EQ(refused("colours=red+red"),
            "colours must be different names of red, green, joined by +, got red twice");
  EXPECT_EQ(refused("seed=-1"), "seed must be an integer in [0, 2^64), got \"-1\"");
  EXPECT_EQ(refused("size=3"),
            "parameter of test must be one of rate, count, on, colour, colours, extra, seed, got \"size\"");
  EXPECT_EQ(refused("rate"), "parameter must be name=value, got \"rate\"");
}

TEST(Parameters, AnAggregateIsCheckedWithTheSameSentence) {
  EXPECT_EQ(refusal_of([] { table().check({.rate = 1.5}); }), "rate must be in (0, 1], got 1.5");
  EXPECT_EQ(refusal_of([] { table().check({.count = 9}); }), "count must be an integer in [1, 5], got 9");
}

TEST(Interval, SaysItselfInWords) {
  EXPECT_EQ(kFraction.text(), "in (0, 1]");
  EXPECT_EQ(kNotNegative.text(), "a finite number of at least 0");
  EXPECT_EQ(kFinite.text(), "a finite number");
  EXPECT_FALSE(kFinite.contains(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(kFinite.contains(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(kFinite.contains(std::numeric_limits<double>::max()));
}

}  // namespace
}  // namespace winnow
