// What the handles of the C interface hold.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/batch_selector.h"
#include "policy/bucket_sampler.h"
#include "policy/groups.h"
#include "policy/sampler.h"
#include "policy/winnow_policy.h"

struct winnow_buckets {
  winnow::Buckets buckets;
  winnow::BucketSampler sampler;
  std::vector<winnow::Criterion> criteria;
  winnow::EpochEnd end = {};
  std::vector<double> column = {};
  std::vector<double> thresholds = {};
};

struct winnow_groups {
  winnow::Groups groups;
};

struct winnow_selector {
  std::unique_ptr<winnow::BatchSelector> selector;
  std::string policy;
  std::string parameters;
  std::vector<double> loss = {}, grad = {}, draws = {};  // widened from single precision
  std::string state = {};
};

struct winnow_sampler {
  winnow::Scores scores;
  std::unique_ptr<winnow::Sampler> sampler;
  std::string policy;
  std::string parameters;
  winnow::EpochDecision decision = {};
  std::string criteria = {};
  std::vector<double> thresholds = {};
  std::vector<winnow::Index> order = {};
  std::string state = {};
};
