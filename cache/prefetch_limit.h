// How many prefetches may be under way: as many as allowed while the source keeps its pace, fewer when it slows down
// (answers take clearly longer than the quickest of late) or fails. Not thread-safe; time comes from outside.
#pragma once

#include <chrono>

namespace winnow {

class PrefetchLimit {
 public:
  using Duration = std::chrono::steady_clock::duration;

  explicit PrefetchLimit(unsigned most) : most_(most), limit_(most < 16 ? most : 16) {}

  void on_success(Duration took);
  void on_failure();
  unsigned value() const { return static_cast<unsigned>(limit_); }

 private:
  static constexpr int kProbeEvery = 512;  // answers after which the quickest is found out anew, with fewer under way
  static constexpr double kSlow = 3;       // times the quickest
  static constexpr double kSlowBy = 0.01;  // and by so many seconds

  void probe(double seconds);

  const unsigned most_;
  double limit_;
  double quickest_ = 0;  // seconds; 0: none yet
  double usual_ = 0;     // a moving mean
  int answers_ = 0;
  int probing_ = 0;       // answers left of a probe
  double probed_ = 0;     // the quickest in it
  double after_probe_ = 0;  // the limit to go back to
  int until_change_ = 0;  // answers to wait for: those under way were asked for under the limit before
};

}  // namespace winnow
