#include <cmath>

#include "policy/c_boundary.h"
#include "policy/c_handles.h"
#include "policy/redundancy.h"

using namespace winnow;
using namespace winnow::c;

namespace {

std::vector<Criterion> criteria_named(std::string_view names) {
  std::vector<Criterion> criteria;
  for (const std::string& name : split_list(names)) {
    criteria.push_back(static_cast<Criterion>(parse_choice("criteria", name, criterion_names())));
  }
  if (criteria.empty()) refuse("criteria", "at least one of " + joined(criterion_names(), ", "), "none");
  return criteria;
}

}  // namespace

extern "C" {

winnow_buckets* winnow_buckets_new(int64_t samples, const char* criteria, const char* parameters) {
  return made<winnow_buckets>([&] {
    require("samples", static_cast<double>(samples), kAtLeastOne);
    return new winnow_buckets{Buckets(samples), BucketSampler(bucket_parameters().parse(text(parameters))),
                              criteria_named(text(criteria))};
  });
}

void winnow_buckets_free(winnow_buckets* buckets) { delete buckets; }

int winnow_buckets_trained(winnow_buckets* handle, const int64_t* ids, int64_t count) {
  return guarded([&] {
    Buckets& buckets = held(handle).buckets;
    for (const Index id : array("ids", ids, count)) require_index("id", id, buckets.samples());
    for (const Index id : array("ids", ids, count)) buckets.mark_trained(id);
  });
}

int winnow_buckets_end_epoch(winnow_buckets* handle, const double* const* scores, double accuracy,
                             winnow_epoch_end* end) {
  return guarded([&] {
    winnow_buckets& own = held(handle);
    const auto columns = array("scores", scores, static_cast<int64_t>(own.criteria.size()));
    const auto scores_of = [&](Criterion criterion) -> std::span<const double> {
      const auto place =
          std::find(own.criteria.begin(), own.criteria.end(), criterion) - own.criteria.begin();
      const auto column = array("scores", columns[static_cast<std::size_t>(place)], own.buckets.samples());
      own.column.assign(column.begin(), column.end());
      for (Index i = 0; i < own.buckets.samples(); ++i) {
        if (own.buckets.waiting(i)) own.column[static_cast<std::size_t>(i)] = NAN;
      }
      return own.column;
    };
    const auto measured = std::isnan(accuracy) ? std::nullopt : std::optional(accuracy);
    own.end = own.sampler.end_epoch(own.buckets, own.criteria, scores_of, measured, OutOrder::worst_first);
    own.thresholds.clear();
    for (const auto& threshold : own.end.thresholds) own.thresholds.push_back(threshold.value_or(NAN));
    *end = {own.thresholds.data(),
            own.end.out.data(),
            static_cast<int64_t>(own.end.out.size()),
            own.end.recalled.data(),
            static_cast<int64_t>(own.end.recalled.size()),
            own.end.plateau};
  });
}

int winnow_buckets_list(const winnow_buckets* handle, int waiting, int64_t* ids, int64_t* count) {
  return guarded([&] {
    const Buckets& buckets = held(handle).buckets;
    copy_out<Index>(waiting ? buckets.waiting() : buckets.in_process(), ids, count);
  });
}

winnow_groups* winnow_groups_new(const uint64_t* hash, const int64_t* label, const uint8_t* flat,
                                 const uint64_t* digest, int64_t n, const char* parameters) {
  return made<winnow_groups>([&] {
    GroupInput input{array("hash", hash, n), array("label", label, n)};
    if (flat != nullptr) {
      input.flat = array("flat", flat, n);
      input.digest = array("digest", digest, n);
    }
    return new winnow_groups{Groups(input, group_parameters().parse(text(parameters)))};
  });
}

void winnow_groups_free(winnow_groups* groups) { delete groups; }

int winnow_groups_representatives(const winnow_groups* handle, int64_t* representative) {
  return guarded([&] {
    const Groups& groups = held(handle).groups;
    for (Index i = 0; i < groups.samples(); ++i) representative[i] = groups.representative(i);
  });
}

int winnow_groups_rremove(const winnow_groups* handle, const int64_t* order, int64_t n, int64_t* kept,
                          int64_t* count) {
  return guarded(
      [&] { copy_out<Index>(rremove(array("order", order, n), held(handle).groups), kept, count); });
}

int winnow_groups_candidates(const winnow_groups* handle, int64_t request, const uint8_t* cached,
                             int64_t* candidates, int64_t* count) {
  return guarded([&] {
    const RRepeat repeat(held(handle).groups, 1);
    array("cached", cached, held(handle).groups.samples());
    copy_out<Index>(repeat.candidates(request, [=](Index i) { return cached[i] != 0; }), candidates, count);
  });
}

int winnow_groups_rrepeat(const winnow_groups* handle, const int64_t* requests, int64_t n,
                          const uint8_t* cached, int64_t max_repeats, int64_t* delivered) {
  return guarded([&] {
    RRepeat repeat(held(handle).groups, max_repeats);
    array("cached", cached, held(handle).groups.samples());
    const auto asked = array("requests", requests, n);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      delivered[i] = repeat.deliver(asked[i], [=](Index j) { return cached[j] != 0; }).value_or(asked[i]);
    }
  });
}

}  // extern "C"
