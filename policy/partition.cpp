#include "policy/partition.h"

#include "policy/error.h"

namespace winnow {
namespace {

__extension__ using WideIndex = __int128;

// First rank with rank·n div |D| ≥ worker, in integers: no rounding decides who gets a sample.
Index block_start(Index worker, Index workers, Index samples) {
  const WideIndex ahead = static_cast<WideIndex>(worker) * samples + workers - 1;
  return static_cast<Index>(ahead / workers);
}

std::vector<Index> stripe(std::span<const Index> order, const Worker& worker) {
  std::vector<Index> part;
  part.reserve(order.size() / static_cast<std::size_t>(worker.of) + 1);
  for (auto rank = static_cast<std::size_t>(worker.number); rank < order.size();
       rank += static_cast<std::size_t>(worker.of)) {
    part.push_back(order[rank]);
  }
  return part;
}

std::vector<Index> block(std::span<const Index> order, const Worker& worker) {
  const auto samples = static_cast<Index>(order.size());
  return {order.begin() + block_start(worker.number, worker.of, samples),
          order.begin() + block_start(worker.number + 1, worker.of, samples)};
}

}  // namespace

const std::vector<std::string>& layout_names() {
  static const std::vector<std::string> names{"stripes", "blocks", "random"};
  return names;
}

const std::vector<std::string>& equalise_names() {
  static const std::vector<std::string> names{"pad", "drop", "none"};
  return names;
}

void check_worker(const Worker& worker, Index samples) {
  if (worker.of < 1 || worker.of > samples) {
    refuse("workers", "an integer in [1, " + std::to_string(samples) + "], the number of samples",
           std::to_string(worker.of));
  }
  require_index("worker", worker.number, worker.of);
}

std::vector<Index> part_of(std::span<const Index> order, Layout layout, const Worker& worker,
                           Equalise equalise) {
  const auto samples = static_cast<Index>(order.size());
  check_worker(worker, samples);
  std::vector<Index> part = layout == Layout::stripes ? stripe(order, worker) : block(order, worker);
  const auto shortest = static_cast<std::size_t>(samples / worker.of);
  const auto longest = static_cast<std::size_t>((samples + worker.of - 1) / worker.of);
  if (equalise == Equalise::drop) part.resize(shortest);
  if (equalise == Equalise::pad && part.size() < longest) part.push_back(part.front());
  return part;
}

}  // namespace winnow
