#include "fs/tree.h"

#include <algorithm>
#include <mutex>

#include "cache/beneath.h"

namespace winnow {

Tree::Tree(std::shared_ptr<const Catalogue> catalogue, const std::string& journal_path)
    : catalogue_(std::move(catalogue)), next_id_(catalogue_->header().next_id) {
  if (journal_path.empty()) return;
  journal_ = std::make_unique<Journal>(journal_path, catalogue_->header().snapshot);
  for (const Amendment& amendment : journal_->recovered()) {
    if (amendment.row < catalogue_->row_count()) apply(amendment);
  }
}

void Tree::apply(const Amendment& amendment) {
  amendments_[amendment.row] = amendment;
  if (amendment.id != 0) row_of_new_id_[amendment.id] = amendment.row;
  next_id_ = std::max(next_id_.load(), amendment.id + 1);
  amended_rows_ = amendments_.size();
}

Node Tree::root() const { return {kRootNode, 0, catalogue_->stat(catalogue_->root())}; }

std::optional<Node> Tree::node_at(std::uint32_t row) const {
  if (amended_rows_.load(std::memory_order_acquire) > 0) {
    const std::shared_lock lock(mutex_);
    if (const auto found = amendments_.find(row); found != amendments_.end()) {
      if (found->second.id == 0) return std::nullopt;
      return Node{NodeId{found->second.id}, row, found->second.stat};
    }
  }
  const Catalogue::Row& at = catalogue_->row(row);
  return Node{NodeId{at.id}, row, catalogue_->stat(at)};
}

void Tree::each_file(const std::function<void(const Node&)>& visit) const {
  for (std::uint32_t row = 0; row < catalogue_->row_count(); ++row) {
    const auto node = node_at(row);
    if (node && is_regular(node->stat)) visit(*node);
  }
}

std::optional<Node> Tree::find(NodeId id) const {
  if (const Catalogue::Row* row = catalogue_->find(id)) {
    auto node = node_at(catalogue_->index(*row));
    if (node && node->id != id) return std::nullopt;
    return node;
  }
  if (amended_rows_.load(std::memory_order_acquire) == 0) return std::nullopt;
  const std::shared_lock lock(mutex_);
  const auto row = row_of_new_id_.find(value(id));
  if (row == row_of_new_id_.end()) return std::nullopt;
  const Amendment& amendment = amendments_.at(row->second);
  if (amendment.id != value(id)) return std::nullopt;
  return Node{id, amendment.row, amendment.stat};
}

std::optional<Node> Tree::child(const Node& folder, std::string_view name) const {
  const Catalogue::Entry* entry = catalogue_->find(catalogue_->row(folder.row), name);
  return entry != nullptr ? node_at(entry->row) : std::nullopt;
}

Node Tree::parent(const Node& node) const {
  const Catalogue::Row& folder = catalogue_->row(catalogue_->row(node.row).folder);
  return {NodeId{folder.id}, catalogue_->index(folder), catalogue_->stat(folder)};
}

void Tree::list(const Node& folder, std::uint64_t position, const Visit& visit) const {
  const Catalogue::Row& row = catalogue_->row(folder.row);
  const auto entries = catalogue_->entries(row);
  const std::size_t first = position == 0 ? 0 : catalogue_->lower_bound(row, position);
  for (const Catalogue::Entry& entry : entries.subspan(first)) {
    const auto node = node_at(entry.row);
    if (!node) continue;
    const std::string_view name = catalogue_->name(entry);
    if (!visit(name, *node, catalogue_->hash(name) + 1)) return;
  }
}

std::vector<Name> Tree::names(const Node& node) const {
  const Catalogue::Row& row = catalogue_->row(node.row);
  const auto name_in = [this](const Catalogue::Row& folder, std::string_view name) {
    return Name{NodeId{folder.id}, std::string(name), join_path(catalogue_->path(folder), name)};
  };
  if (is_folder(node.stat) || row.links <= 1)
    return {name_in(catalogue_->row(row.folder), catalogue_->name(row))};
  // Nothing leads from a hard-linked file to its other names; they are rare, so look through all.
  std::vector<Name> found;
  for (std::uint32_t i = 0; i < catalogue_->row_count(); ++i) {
    const Catalogue::Row& folder = catalogue_->row(i);
    if (!is_folder(catalogue_->stat(folder))) continue;
    for (const Catalogue::Entry& entry : catalogue_->entries(folder)) {
      if (entry.row == node.row) found.push_back(name_in(folder, catalogue_->name(entry)));
    }
  }
  return found;
}

std::vector<Name> Tree::names_of_superseded(NodeId id) const {
  if (find(id)) return {};
  if (const Catalogue::Row* row = catalogue_->find(id)) {
    return names({id, catalogue_->index(*row), catalogue_->stat(*row)});
  }
  const std::shared_lock lock(mutex_);
  const auto row = row_of_new_id_.find(value(id));
  if (row == row_of_new_id_.end()) return {};
  return names({id, row->second, catalogue_->stat(catalogue_->row(row->second))});
}

std::optional<Node> Tree::amend(NodeId id, const std::optional<FileStat>& now) {
  const auto before = find(id);
  if (!before) return std::nullopt;
  const std::unique_lock lock(mutex_);
  if (const auto other = amendments_.find(before->row);
      other != amendments_.end() && other->second.id != value(id)) {
    return std::nullopt;
  }
  Amendment amendment{.row = before->row};
  if (now) {
    amendment.id = next_id_.load();
    amendment.stat = *now;
  }
  record(amendment);
  if (!now) return std::nullopt;
  return Node{NodeId{amendment.id}, amendment.row, amendment.stat};
}

void Tree::adopt(NodeId id, const FileStat& now) {
  const auto before = find(id);
  if (!before) return;
  const std::unique_lock lock(mutex_);
  if (const auto other = amendments_.find(before->row);
      other != amendments_.end() && other->second.id != value(id)) {
    return;
  }
  record({.row = before->row, .id = value(id), .stat = now});
}

void Tree::record(const Amendment& amendment) {
  apply(amendment);
  if (journal_) journal_->append(amendment);
}

}  // namespace winnow
