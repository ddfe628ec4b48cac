#include "policy/selection_methods.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "policy/quantile.h"

namespace winnow {
namespace {

constexpr int kMostRounds = 24;

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

struct Limit {
  double value;
  std::size_t equal_wanted;  // how many of those that equal it belong to the k largest
};

// Quickselect that copies to both sides and lets the counts decide: on a batch of random losses the branches
// of std::nth_element are guessed wrong so often that this takes a third of the time.
Limit kth_largest(std::span<const double> values, std::size_t k) {
  std::vector<double> from(values.begin(), values.end());
  std::vector<double> above(values.size());
  std::vector<double> below(values.size());
  for (int round = 0;; ++round) {
    const std::size_t n = from.size();
    const double a = from[0];
    const double b = from[n / 2];
    const double c = from[n - 1];
    const double pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
    std::size_t higher = 0;
    std::size_t lower = 0;
    for (const double one : from) {
      above[higher] = one;
      higher += one > pivot;
      below[lower] = one;
      lower += one < pivot;
    }
    const std::size_t equal = n - higher - lower;
    if (k > higher && k <= higher + equal) return {pivot, k - higher};
    if (k <= higher) {
      from.assign(above.begin(), above.begin() + static_cast<std::ptrdiff_t>(higher));
    } else {
      k -= higher + equal;
      from.assign(below.begin(), below.begin() + static_cast<std::ptrdiff_t>(lower));
    }
    // Values made to mislead the pivots end here, not in quadratic time.
    if (round == kMostRounds) std::sort(from.begin(), from.end());
  }
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

// Finding the k-th value first, and then walking once, leaves nothing to sort. The walk writes every position
// and keeps some: no branch depends on the values.
void largest(std::span<const double> values, Index k, std::vector<Index>& selected) {
  selected.clear();
  if (k <= 0) return;
  const Limit limit = kth_largest(values, static_cast<std::size_t>(k));
  selected.resize(values.size());
  std::size_t kept = 0;
  std::size_t equal_left = limit.equal_wanted;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool equal = values[i] == limit.value;
    selected[kept] = static_cast<Index>(i);
    kept +=
        static_cast<std::size_t>(values[i] > limit.value) + static_cast<std::size_t>(equal && equal_left > 0);
    equal_left -= static_cast<std::size_t>(equal && equal_left > 0);
  }
  selected.resize(kept);
}

void softmax(std::span<const double> values, std::vector<double>& weights) {
  const double top = *std::max_element(values.begin(), values.end());
  weights.resize(values.size());
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) total += weights[i] = std::exp(values[i] - top);
  for (double& weight : weights) weight /= total;
}

}  // namespace winnow
