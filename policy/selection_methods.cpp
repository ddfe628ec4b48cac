#include "policy/selection_methods.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "policy/quantile.h"

namespace winnow {
namespace {

template <typename Value>
void each(std::span<const double> loss, std::vector<double>& values, Value value) {
  values.resize(loss.size());
  std::transform(loss.begin(), loss.end(), values.begin(), value);
}

void adaboost_values(std::span<const double> loss, double margin, std::vector<double>& values) {
  const double top = *std::max_element(loss.begin(), loss.end());
  if (top <= 0) return values.assign(loss.size(), 0);
  each(loss, values, [=](double one) {
    const double scaled = std::max(one, 0.0) / top * (1 - margin);
    return 0.5 * std::log((1 + scaled) / (1 - scaled));
  });
}

// Half from the top, and of the others half from the bottom.
void both_ends(std::span<const double> loss, Index k, std::vector<Index>& selected) {
  largest(loss, (k + 1) / 2, selected);
  std::vector<double> others(loss.size());
  std::transform(loss.begin(), loss.end(), others.begin(), std::negate<>());
  for (const Index taken : selected) {
    others[static_cast<std::size_t>(taken)] = -std::numeric_limits<double>::infinity();
  }
  std::vector<Index> smallest;
  largest(others, k / 2, smallest);
  selected.insert(selected.end(), smallest.begin(), smallest.end());
  std::sort(selected.begin(), selected.end());
}

}  // namespace

const std::vector<std::string>& method_names() {
  static const std::vector<std::string> names{"uniform",  "big_loss", "small_loss", "grad_norm",
                                              "adaboost", "coreset1", "coreset2"};
  return names;
}

void method_values(Method method, const Batch& batch, double adaboost_margin, std::vector<double>& values) {
  const std::span<const double> loss = batch.loss;
  switch (method) {
    case Method::uniform:
      return values.assign(batch.draws.begin(), batch.draws.end());
    case Method::big_loss:
      return values.assign(loss.begin(), loss.end());
    case Method::small_loss:
      return each(loss, values, std::negate<>());
    case Method::grad_norm:
      return values.assign(batch.grad.begin(), batch.grad.end());
    case Method::adaboost:
      return adaboost_values(loss, adaboost_margin, values);
    case Method::coreset1:
      return each(loss, values,
                  [median = *quantile(loss, 0.5)](double one) { return std::abs(one - median); });
    case Method::coreset2: {
      const double mean = std::accumulate(loss.begin(), loss.end(), 0.0) / static_cast<double>(loss.size());
      return each(loss, values, [=](double one) { return -std::abs(one - mean); });
    }
  }
}

void method_selection(Method method, std::span<const double> loss, std::span<const double> values, Index k,
                      std::vector<Index>& selected) {
  if (method == Method::coreset1) return both_ends(loss, k, selected);
  largest(values, k, selected);
}

// Finding the k-th value first, and then walking once, leaves nothing to sort.
void largest(std::span<const double> values, Index k, std::vector<Index>& selected) {
  selected.clear();
  if (k <= 0) return;
  std::vector<double> ordered(values.begin(), values.end());
  const auto kth = ordered.begin() + (k - 1);
  std::nth_element(ordered.begin(), kth, ordered.end(), std::greater<>());
  const double limit = *kth;
  Index equal = k - std::count_if(ordered.begin(), kth, [=](double one) { return one > limit; });
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > limit || (values[i] == limit && equal-- > 0)) selected.push_back(static_cast<Index>(i));
  }
}

void softmax(std::span<const double> values, std::vector<double>& weights) {
  const double top = *std::max_element(values.begin(), values.end());
  weights.resize(values.size());
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) total += weights[i] = std::exp(values[i] - top);
  for (double& weight : weights) weight /= total;
}

}  // namespace winnow
