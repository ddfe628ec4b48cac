// How many prefetches may be under way: as many as allowed while the source keeps its pace, fewer when it fails or when
// answers come clearly later than they do with few under way. More would then bring nothing but a queue at the source, in
// which readers wait too. Means are compared with means, so that a source of uneven pace is no slow one. Not thread-safe;
// time comes from outside.
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
  static constexpr int kFirstProbe = 128;  // answers after which it is found out how soon they come with few under way
  static constexpr int kProbeEvery = 2048;
  static constexpr double kFew = 2;
  static constexpr double kSlow = 1.3;       // times as long as with few
  static constexpr double kSlowBy = 0.0015;  // and by so many seconds

  void begin_probe();
  void probe(double seconds);

  const unsigned most_;
  double limit_;
  double unhurried_ = 0;  // mean seconds with few under way; 0: not known yet
  double usual_ = 0;      // a moving mean
  int until_probe_ = kFirstProbe;
  int probing_ = 0;         // answers left of a probe
  double probed_ = 0;       // their sum
  double after_probe_ = 0;  // the limit to go back to
  bool was_slow_ = false;   // since the last failure: from then on it grows slowly
  int until_change_ = 0;    // answers to wait for: those under way were asked for under the limit before
};

}  // namespace winnow
