// Chooses which samples of a mini-batch take part in the backward pass, and when an optimiser step is due.
// Called once per batch, in order, by one thread; what it returns is valid until the next call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/sample.h"
#include "policy/state.h"

namespace winnow {

struct Batch {
  std::span<const double> loss;
  std::span<const double> grad = {};   // where a method needs it
  std::span<const double> draws = {};  // U(0,1) to use in place of the selector's own
};

struct Selection {
  std::vector<Index> kept;  // positions in the batch, ascending
  Index due_after = 0;      // a step is due after this many of them; 0: none yet
};

class BatchSelector {
 public:
  virtual ~BatchSelector() = default;
  virtual const Selection& select(const Batch& batch) = 0;
  virtual void set_epoch(Index epoch) = 0;  // seeds the draws; everything learnt goes on
  virtual void save(StateWriter& state) const = 0;
  virtual void load(StateReader& state) = 0;
};

}  // namespace winnow
