#include "policy/groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "policy/hamming.h"
#include "policy/star_clustering.h"

namespace winnow {

const ParameterTable<GroupOptions>& group_parameters() {
  using O = GroupOptions;
  static const auto table =
      ParameterTable<O>("groups")
          .integer("max_distance", &O::max_distance, {.low = 0, .high = 64}, "differing bits within a group")
          .integer("max_group", &O::max_group, kNotNegative, "members of a group at most; 0 = no limit");
  return table;
}

Groups::Groups(const GroupInput& input, const GroupOptions& options)
    : hash_(input.hash.begin(), input.hash.end()), representative_(input.hash.size()) {
  group_parameters().check(options);
  require_length("label", input.label.size(), hash_.size());
  if (!input.flat.empty()) {
    require_length("flat", input.flat.size(), hash_.size());
    require_length("digest", input.digest.size(), hash_.size());
  }
  // Samples that may share a group: the same label, and the same content where they are flat.
  const auto kind = [&](Index sample) {
    const auto at = static_cast<std::size_t>(sample);
    const bool flat = !input.flat.empty() && input.flat[at] != 0;
    return std::tuple(input.label[at], flat, flat ? input.digest[at] : 0);
  };
  std::vector<Index> order(hash_.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return kind(a) < kind(b); });
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end =
        std::find_if(begin, order.end(), [&](Index sample) { return kind(sample) != kind(*begin); });
    const bool flat = std::get<1>(kind(*begin));
    cluster({begin, end}, flat ? 64 : options.max_distance, static_cast<std::size_t>(options.max_group));
    begin = end;
  }
  list_members();
}

void Groups::cluster(std::span<const Index> alike, std::int64_t max_distance, std::size_t max_group) {
  std::vector<std::uint64_t> hashes(alike.size());
  for (std::size_t i = 0; i < alike.size(); ++i) hashes[i] = hash_[static_cast<std::size_t>(alike[i])];
  const std::vector<std::uint32_t> stars = cluster_stars(hashes, static_cast<int>(max_distance), max_group);
  for (std::size_t i = 0; i < alike.size(); ++i) {
    representative_[static_cast<std::size_t>(alike[i])] = alike[stars[i]];
  }
}

void Groups::list_members() {
  starts_.assign(representative_.size() + 1, 0);
  for (const Index representative : representative_) ++starts_[static_cast<std::size_t>(representative) + 1];
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  std::vector<Index> next(starts_.begin(), starts_.end() - 1);
  members_.resize(representative_.size());
  for (Index i = 0; i < samples(); ++i) {
    members_[static_cast<std::size_t>(next[static_cast<std::size_t>(representative(i))]++)] = i;
  }
}

std::span<const Index> Groups::members(Index sample) const {
  require_index("sample", sample, samples());
  const auto group = static_cast<std::size_t>(representative(sample));
  const auto begin = static_cast<std::size_t>(starts_[group]);
  return std::span(members_).subspan(begin, static_cast<std::size_t>(starts_[group + 1]) - begin);
}

int Groups::distance(Index a, Index b) const {
  return hamming(hash_[static_cast<std::size_t>(a)], hash_[static_cast<std::size_t>(b)]);
}

}  // namespace winnow
