// Similarity groups: samples of one label whose perceptual hashes are close to a representative's. A group is
// a star, never a chain. Flat images (one grey) are grouped only with flat ones of equal content.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/parameters.h"
#include "policy/sample.h"

namespace winnow {

struct GroupOptions {
  std::int64_t max_distance = 2;  // differing bits
  std::int64_t max_group = 8;     // members, the representative counted; 0 = no limit
};

const ParameterTable<GroupOptions>& group_parameters();

struct GroupInput {
  std::span<const std::uint64_t> hash;
  std::span<const std::int64_t> label;
  std::span<const std::uint8_t> flat = {};     // empty: no flat images
  std::span<const std::uint64_t> digest = {};  // of the content; looked at where flat
};

class Groups {
 public:
  Groups(const GroupInput& input, const GroupOptions& options);

  Index samples() const { return static_cast<Index>(representative_.size()); }
  Index representative(Index sample) const { return representative_[static_cast<std::size_t>(sample)]; }
  std::span<const Index> members(Index sample) const;  // of the sample's group, ascending, itself included
  int distance(Index a, Index b) const;

 private:
  void cluster(std::span<const Index> alike, std::int64_t max_distance, std::size_t max_group);
  void list_members();

  std::vector<std::uint64_t> hash_;
  std::vector<Index> representative_;
  std::vector<Index> starts_;   // of a representative's members in members_
  std::vector<Index> members_;  // group by group
};

}  // namespace winnow
