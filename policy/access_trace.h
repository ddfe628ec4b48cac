// A sequence of reads over a set of samples, as a simulation replays it: recorded from a mount, or generated.
// Samples are counted from 0; an eviction policy knows sample i as SampleId i + 1. A value: copy, share, no
// locks. Generating is deterministic in the seed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policy/sample.h"

namespace winnow {

struct TracedSample {
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> label;
  bool scored = false;
  bool important = true;    // lost no vote; without a score it cannot
  double importance = 1.0;  // as CachedFacts has it
  bool ends_itself = false;
};

struct AccessTrace {
  std::vector<TracedSample> samples;
  std::vector<SampleId> reads;
  std::vector<std::uint64_t> epoch_starts;  // positions in `reads`, ascending, without the first epoch's 0

  TracedSample& sample(SampleId id) { return samples[value(id) - 1]; }
  const TracedSample& sample(SampleId id) const { return samples[value(id) - 1]; }
  std::uint64_t total_bytes() const;
  std::uint64_t first_reads() const;  // of a sample, which nothing can make a hit
};

// Where epochs begin if nobody says: when every sample of the trace was read since the last one began, or
// nearly every one and a sample comes again (a recording may have lost some reads).
std::vector<std::uint64_t> recognised_epochs(std::span<const SampleId> reads, std::size_t samples);

// Takes up one score a sample (NaN: none): its rank is the sample's importance, and the lowest `unimportant`
// of the scored lose the vote, ties by position.
void apply_scores(AccessTrace& trace, std::span<const double> scores, double unimportant);

enum class TraceKind { shuffle, in_order, zipf };

// "shuffle" (each epoch reads all, in a new order), "in-order" (in the same), or "zipf" (draws by popularity
// 1/rank, as many as there are samples).
TraceKind parse_trace_kind(std::string_view name);

struct GeneratedTrace {
  TraceKind kind = TraceKind::shuffle;
  Index samples = 10'000;
  Index epochs = 5;
  Index labels = 10;
  std::uint64_t seed = 0;
  std::uint64_t least_bytes = 110 << 10;  // sizes are drawn evenly between the two
  std::uint64_t most_bytes = 110 << 10;
  double unimportant = 0.5;  // scores are drawn evenly too
};

AccessTrace generate(const GeneratedTrace& wanted);

}  // namespace winnow
