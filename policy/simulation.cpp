#include "policy/simulation.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "policy/error.h"
#include "policy/registry.h"

namespace winnow {
namespace {

constexpr std::uint64_t kTellEvery = 1 << 16;

// Who of a label is in the cache and may stand for others: the smallest fits for the most.
class Substitutes {
 public:
  Substitutes(const AccessTrace& trace, const std::optional<SubstitutionOptions>& options)
      : trace_(trace), options_(options), served_in_(options ? trace.samples.size() : 0) {}

  void begin_epoch() {
    ++epoch_;
    for (auto& [label, one] : labels_) one.reads = {};
  }
  void add(SampleId id) {
    const TracedSample& sample = trace_.sample(id);
    if (may_stand_in(sample)) labels_[*sample.label].cached.emplace(sample.bytes, value(id));
  }
  void remove(SampleId id) {
    const TracedSample& sample = trace_.sample(id);
    if (may_stand_in(sample)) labels_[*sample.label].cached.erase({sample.bytes, value(id)});
  }
  void note_read(SampleId id) {
    const TracedSample& sample = trace_.sample(id);
    if (options_ && sample.label) ++labels_[*sample.label].reads.reads;
  }
  void note_exact(SampleId id) {
    if (options_) served_in_[value(id) - 1] = epoch_;
  }

  // For one that is not cached; counts it if so.
  bool stands_in_for(SampleId id) {
    const TracedSample& asked = trace_.sample(id);
    if (!options_ || !asked.label || asked.important) return false;
    Label& label = labels_[*asked.label];
    if (label.cached.empty()) return false;
    const TracedSample& offered = trace_.sample(SampleId{label.cached.begin()->second});
    if (judge_substitution(facts(id, asked),
                           {.cached = true,
                            .important = offered.important,
                            .label = offered.label,
                            .size = offered.bytes,
                            .same_group = true,
                            .ends_itself = offered.ends_itself},
                           label.reads, *options_) != SubstitutionVerdict::allowed)
      return false;
    ++label.reads.substituted;
    return true;
  }

 private:
  struct Label {
    ClassReads reads;
    std::set<std::pair<std::uint64_t, std::uint64_t>> cached;  // bytes and id
  };

  bool may_stand_in(const TracedSample& sample) const {
    return options_ && sample.label && sample.ends_itself &&
           (options_->from == SubstituteFrom::group || !sample.important);
  }
  AskedSample facts(SampleId id, const TracedSample& asked) const {
    AskedSample facts{.scored = asked.scored,
                      .important = asked.important,
                      .label = asked.label,
                      .size = asked.bytes,
                      .ends_itself = asked.ends_itself};
    const std::int64_t served_in = served_in_[value(id) - 1];
    if (served_in > 0) facts.epochs_since_exact = epoch_ - served_in;
    return facts;
  }

  const AccessTrace& trace_;
  const std::optional<SubstitutionOptions> options_;
  std::unordered_map<std::int64_t, Label> labels_;
  std::vector<std::int64_t> served_in_;  // the epoch each was last served exactly in; 0: never
  std::int64_t epoch_ = 1;
};

class Replay {
 public:
  Replay(const AccessTrace& trace, std::span<const std::uint64_t> next, const SimulatedCache& cache)
      : trace_(trace),
        next_(next),
        budget_(cache.bytes),
        eviction_(make_eviction(cache.policy, cache.parameters)),
        by_epoch_(dynamic_cast<EpochEviction*>(eviction_.get())),
        admission_(make_admission(cache.policy)),
        needs_next_use_(find_policy(cache.policy).info.needs == "next_use"),
        substitutes_(trace, cache.substitution),
        resident_(trace.samples.size()) {}

  void begin_epoch() {
    ++epoch_;
    if (by_epoch_ != nullptr) by_epoch_->begin_epoch();
    substitutes_.begin_epoch();
  }

  void read(std::size_t position) {
    const SampleId id = trace_.reads[position];
    const TracedSample& sample = trace_.sample(id);
    const CachedFacts facts{.bytes = sample.bytes,
                            .importance = sample.importance,
                            .read = true,
                            .next_use = next_[position]};
    substitutes_.note_read(id);
    if (resident_[value(id) - 1].here) {
      ++counts_.hits;
      renew(id, facts);
    } else if (substitutes_.stands_in_for(id)) {
      ++counts_.substituted;
      return;
    } else {
      ++counts_.fetched;
      counts_.fetched_bytes += sample.bytes;
      if (make_room(facts)) admit(id, facts);
    }
    substitutes_.note_exact(id);
  }

  const SimulationCounts& counts() const { return counts_; }

 private:
  struct Resident {
    std::uint64_t next_use = 0;
    std::uint32_t read_in = 0;  // the epoch
    bool here = false;
  };

  CachedFacts facts_of(SampleId id) const {
    const TracedSample& sample = trace_.sample(id);
    const Resident& resident = resident_[value(id) - 1];
    return {.bytes = sample.bytes,
            .importance = sample.importance,
            .read = resident.read_in == epoch_,
            .next_use = resident.next_use};
  }
  void renew(SampleId id, const CachedFacts& facts) {
    resident_[value(id) - 1] = {facts.next_use, epoch_, true};
    if (needs_next_use_) {
      eviction_->on_insert(id, facts);
    } else {
      eviction_->on_hit(id);
    }
  }
  void admit(SampleId id, const CachedFacts& facts) {
    resident_[value(id) - 1] = {facts.next_use, epoch_, true};
    used_ += facts.bytes;
    counts_.high_water_bytes = std::max(counts_.high_water_bytes, used_);
    eviction_->on_insert(id, facts);
    substitutes_.add(id);
  }

  // Lets leave whom the policies name, or nobody. Each victim is judged before the next is asked for: an
  // admission that refuses a newcomer for the sake of some would refuse it for more of them too.
  bool make_room(const CachedFacts& newcomer) {
    if (newcomer.bytes > budget_) return false;
    leaving_.clear();
    leaving_facts_.clear();
    std::uint64_t room = budget_ - used_;
    while (room < newcomer.bytes) {
      const auto victim = eviction_->victim();
      if (victim) leaving_facts_.push_back(facts_of(*victim));
      if (!victim || !admission_->admits(newcomer, leaving_facts_)) {
        for (const SampleId id : leaving_) eviction_->on_insert(id, facts_of(id));
        return false;
      }
      room += leaving_facts_.back().bytes;
      leaving_.push_back(*victim);
      eviction_->on_remove(*victim);
    }
    for (const SampleId id : leaving_) {
      resident_[value(id) - 1].here = false;
      used_ -= trace_.sample(id).bytes;
      substitutes_.remove(id);
    }
    return true;
  }

  const AccessTrace& trace_;
  const std::span<const std::uint64_t> next_;
  const std::uint64_t budget_;
  const std::unique_ptr<EvictionPolicy> eviction_;
  EpochEviction* const by_epoch_;  // the same, or null
  const std::unique_ptr<AdmissionPolicy> admission_;
  const bool needs_next_use_;
  Substitutes substitutes_;
  std::vector<Resident> resident_;
  std::vector<SampleId> leaving_;
  std::vector<CachedFacts> leaving_facts_;
  std::uint64_t used_ = 0;
  std::uint32_t epoch_ = 1;
  SimulationCounts counts_;
};

}  // namespace

SimulationCounts simulate(const AccessTrace& trace, std::span<const std::uint64_t> next,
                          const SimulatedCache& cache, const std::function<void(std::uint64_t)>& progress) {
  require_length("next uses", next.size(), trace.reads.size());
  Replay replay(trace, next, cache);
  auto epoch = trace.epoch_starts.begin();
  std::uint64_t told = 0;
  for (std::size_t i = 0; i < trace.reads.size(); ++i) {
    if (epoch != trace.epoch_starts.end() && *epoch == i) {
      replay.begin_epoch();
      ++epoch;
    }
    replay.read(i);
    if (progress && i - told >= kTellEvery) {
      progress(i - told);
      told = i;
    }
  }
  if (progress) progress(trace.reads.size() - told);
  return replay.counts();
}

}  // namespace winnow
