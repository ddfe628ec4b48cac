#include "policy/two_random.h"

namespace winnow {
namespace {

constexpr Index kNever = -1;

}  // namespace

TwoRandom::TwoRandom(std::uint64_t seed) : seed_(seed), random_(sub_seed(seed, Purpose::two_random, 0)) {}

void TwoRandom::begin_epoch() {
  random_ = Random(sub_seed(seed_, Purpose::two_random, ++epoch_));
  // All are unread now. The shorter list moves over: at the end of an epoch nearly everything was read.
  if (unread_.size() < read_.size()) std::swap(unread_, read_);
  for (const SampleId id : read_) {
    move(id, unread_.size());
    unread_.push_back(id);
  }
  read_.clear();
  chosen_.reset();
}

void TwoRandom::on_insert(SampleId id, const CachedFacts& facts) {
  on_remove(id);
  add(id, facts.read);
}

void TwoRandom::on_hit(SampleId id) {
  const Place place = places_.get(value(id));
  if (place.last_use == 0) return;
  take_out(place);
  add(id, true);
}

void TwoRandom::on_remove(SampleId id) {
  const Place place = places_.get(value(id));
  if (place.last_use == 0) return;
  take_out(place);
  places_.set(value(id), {});
}

void TwoRandom::add(SampleId id, bool read) {
  chosen_.reset();
  const Index read_in = read ? epoch_ : kNever;
  places_.set(value(id), {read_in, list(read_in).size(), ++clock_});
  list(read_in).push_back(id);
}

void TwoRandom::take_out(const Place& place) {
  chosen_.reset();
  std::vector<SampleId>& residents = list(place.read_in);
  const SampleId last = residents.back();
  residents[place.slot] = last;
  move(last, place.slot);
  residents.pop_back();
}

void TwoRandom::move(SampleId id, std::size_t slot) {
  Place place = places_.get(value(id));
  place.slot = slot;
  places_.set(value(id), place);
}

SampleId TwoRandom::choose(const std::vector<SampleId>& residents) const {
  if (residents.size() == 1) return residents.front();
  const std::uint64_t first = random_.below(residents.size());
  std::uint64_t second = random_.below(residents.size() - 1);
  if (second >= first) ++second;
  const auto last_use = [&](std::uint64_t slot) { return places_.get(value(residents[slot])).last_use; };
  return residents[last_use(first) < last_use(second) ? first : second];
}

std::optional<SampleId> TwoRandom::victim() const {
  if (read_.empty() && unread_.empty()) return std::nullopt;
  if (!chosen_) chosen_ = choose(read_.empty() ? unread_ : read_);
  return chosen_;
}

}  // namespace winnow
