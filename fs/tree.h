// The names and facts the mount shows: a snapshot, and what was since noticed of single files (amendments).
// A file that was noticed to have changed gets a new id under its old name; the old id is gone for good, so
// no descriptor reads two versions. Thread-safe; no call blocks on the source.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fs/catalogue.h"
#include "fs/journal.h"
#include "fs/node_id.h"

namespace winnow {

struct Node {
  NodeId id{};
  std::uint32_t row = 0;
  FileStat stat;
};

// A name in a folder, as the kernel knows it.
struct Name {
  NodeId folder{};
  std::string name;
  std::string path;  // of the name, from the source's root
};

class Tree {
 public:
  // Takes up what `journal_path` holds of this snapshot; without a path, amendments end with the process.
  Tree(std::shared_ptr<const Catalogue> catalogue, const std::string& journal_path);

  const Catalogue& catalogue() const { return *catalogue_; }

  Node root() const;
  std::optional<Node> find(NodeId id) const;  // nullopt: never given, superseded or gone
  std::optional<Node> child(const Node& folder, std::string_view name) const;
  Node parent(const Node& node) const;
  std::string path(const Node& node) const { return catalogue_->path(catalogue_->row(node.row)); }
  std::string_view target(const Node& symlink) const {
    return catalogue_->target(catalogue_->row(symlink.row));
  }

  // Calls visit(name, node, position) for the names behind `position` (0: from the first) until it gives
  // false.
  using Visit = std::function<bool(std::string_view, const Node&, std::uint64_t)>;
  void list(const Node& folder, std::uint64_t position, const Visit& visit) const;

  // Every regular file there is, once, in the order of the snapshot's rows.
  void each_file(const std::function<void(const Node&)>& visit) const;

  // The names that led to an id which is no more, if it was superseded since the snapshot.
  std::vector<Name> names_of_superseded(NodeId id) const;
  // Every name of a node, more than one for hard links.
  std::vector<Name> names(const Node& node) const;

  // The file is no longer what the snapshot says: it has these facts now, or is gone (nullopt). Gives the
  // node under its new id; nullopt if it is gone or somebody else amended it already.
  std::optional<Node> amend(NodeId id, const std::optional<FileStat>& now);
  // The file has these facts now, under the same id: only for what cannot mix versions.
  void adopt(NodeId id, const FileStat& now);

  std::uint64_t next_id() const { return next_id_; }
  std::size_t amendment_count() const { return amended_rows_; }

 private:
  std::optional<Node> node_at(std::uint32_t row) const;
  void apply(const Amendment& amendment);   // with mutex_ held exclusively
  void record(const Amendment& amendment);  // the same

  const std::shared_ptr<const Catalogue> catalogue_;
  std::atomic<std::size_t> amended_rows_{0};  // 0 spares readers the lock
  std::atomic<std::uint64_t> next_id_;
  mutable std::shared_mutex mutex_;  // guards the three below; a leaf lock
  std::unordered_map<std::uint32_t, Amendment> amendments_;
  std::unordered_map<std::uint64_t, std::uint32_t> row_of_new_id_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace winnow
