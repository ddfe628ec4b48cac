// The seven ways of rating the samples of a batch that AdaSelection mixes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/batch_selector.h"

namespace winnow {

enum class Method { uniform, big_loss, small_loss, grad_norm, adaboost, coreset1, coreset2 };

const std::vector<std::string>& method_names();

// What the method's softmax is taken over. `batch.draws` and `batch.grad` are there if the method needs them.
void method_values(Method method, const Batch& batch, double adaboost_margin, std::vector<double>& values);

// The k samples the method alone would select, ascending, given its values.
void method_selection(Method method, std::span<const double> loss, std::span<const double> values, Index k,
                      std::vector<Index>& selected);

// The k positions of the largest values, ascending; ties go to the lower position.
void largest(std::span<const double> values, Index k, std::vector<Index>& selected);

void softmax(std::span<const double> values, std::vector<double>& weights);

}  // namespace winnow
