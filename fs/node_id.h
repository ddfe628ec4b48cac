// What the kernel calls an inode of ours. Catalogue ids are given once and never reused, over restarts and
// refreshes; the root is 1, as FUSE wants it. High bits mark nodes that are not in the catalogue.
#pragma once

#include <cstdint>

#include "policy/sample.h"

namespace winnow {

enum class NodeId : std::uint64_t {};

constexpr std::uint64_t value(NodeId id) { return static_cast<std::uint64_t>(id); }
constexpr SampleId sample_of(NodeId id) { return SampleId{value(id)}; }
constexpr NodeId node_of(SampleId id) { return NodeId{value(id)}; }

inline constexpr NodeId kRootNode{1};

// Folders below .winnow/exact: the kernel allows a folder one name, so there it needs an id of its own.
inline constexpr std::uint64_t kExactBit = std::uint64_t{1} << 61;
constexpr NodeId in_exact_view(NodeId folder) { return NodeId{value(folder) | kExactBit}; }

// .winnow and what is generated in it. The low byte says which; above it stands the edition of a generated
// file.
inline constexpr std::uint64_t kGeneratedBit = std::uint64_t{1} << 62;
constexpr bool is_generated(NodeId id) { return (value(id) & kGeneratedBit) != 0; }

// st_ino: the same for every edition of a generated file.
constexpr std::uint64_t shown_inode(NodeId id) {
  return is_generated(id) ? kGeneratedBit | (value(id) & 0xff) : value(id);
}

}  // namespace winnow
