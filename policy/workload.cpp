#include "policy/workload.h"

#include "policy/error.h"

namespace winnow {

double stall_of(std::span<const EpochTimes> profiled) {
  for (const EpochTimes& epoch : profiled) {
    require("io_wait", epoch.io_wait, kNotNegative);
    require("compute", epoch.compute, kNotNegative);
  }
  if (profiled.size() >= 2) profiled = profiled.subspan(1);
  double io_wait = 0;
  double compute = 0;
  for (const EpochTimes& epoch : profiled) {
    io_wait += epoch.io_wait;
    compute += epoch.compute;
  }
  return io_wait + compute == 0 ? 0 : io_wait / (io_wait + compute);
}

std::vector<Criterion> voting_criteria(bool io_bound, Task task) {
  if (task == Task::loss_only) {
    return io_bound ? std::vector{Criterion::loss, Criterion::io} : std::vector{Criterion::loss};
  }
  if (!io_bound) return {Criterion::entropy};
  return {Criterion::entropy, Criterion::margin, Criterion::io};
}

}  // namespace winnow
