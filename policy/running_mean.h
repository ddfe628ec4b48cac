// Mean and spread of a history without keeping it, one value at a time.
#pragma once

#include <cstdint>

namespace winnow {

struct RunningMean {
  std::uint32_t count = 0;
  double mean = 0;
  double squares = 0;  // sum of squared differences from the mean

  void add(double value) {
    ++count;
    const double difference = value - mean;
    mean += difference / count;
    squares += difference * (value - mean);
  }
  double variance() const { return count == 0 ? 0 : squares / count; }  // population
};

}  // namespace winnow
