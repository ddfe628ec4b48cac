// Dealing ranked samples to the workers of a data-parallel job. The parts cover all samples, each once, and
// differ in length by at most one, until they are made equally long.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/sample.h"

namespace winnow {

enum class Layout { stripes, blocks, random };  // random: the order is a shuffle, dealt as blocks
enum class Equalise { pad, drop, none };

const std::vector<std::string>& layout_names();
const std::vector<std::string>& equalise_names();

struct Worker {
  Index number = 0;
  Index of = 1;
};

// The worker exists, and there are not more workers than samples.
void check_worker(const Worker& worker, Index samples);

// A worker's part of `order`, in that order. `pad` wraps within the part, `drop` cuts to the shortest.
std::vector<Index> part_of(std::span<const Index> order, Layout layout, const Worker& worker,
                           Equalise equalise);

}  // namespace winnow
