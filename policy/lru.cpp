#include "policy/lru.h"

namespace winnow {

bool Lru::contains(std::uint64_t id) const {
  // A single resident has no neighbours, so its links alone do not show it.
  return id == newest_ || links_.get(id).newer != 0;
}

void Lru::on_insert(SampleId id, const CachedFacts&) {
  if (contains(value(id))) unlink(value(id));
  append(value(id));
}

void Lru::on_hit(SampleId id) {
  if (value(id) == newest_ || !contains(value(id))) return;
  unlink(value(id));
  append(value(id));
}

void Lru::on_remove(SampleId id) {
  if (value(id) != 0 && contains(value(id))) unlink(value(id));
}

std::optional<SampleId> Lru::victim() const {
  if (oldest_ == 0) return std::nullopt;
  return SampleId{oldest_};
}

void Lru::append(std::uint64_t id) {
  links_.set(id, {.older = newest_, .newer = 0});
  if (newest_ == 0) {
    oldest_ = id;
  } else {
    links_.set(newest_, {.older = links_.get(newest_).older, .newer = id});
  }
  newest_ = id;
}

void Lru::unlink(std::uint64_t id) {
  const Links at = links_.get(id);
  if (at.older == 0) {
    oldest_ = at.newer;
  } else {
    links_.set(at.older, {.older = links_.get(at.older).older, .newer = at.newer});
  }
  if (at.newer == 0) {
    newest_ = at.older;
  } else {
    links_.set(at.newer, {.older = at.older, .newer = links_.get(at.newer).newer});
  }
  links_.set(id, {});
}

}  // namespace winnow
