#include "fs/snapshot_diff.h"

namespace winnow {

namespace {

bool same_facts(const FileStat& a, const FileStat& b) {
  return a.mode == b.mode && a.uid == b.uid && a.gid == b.gid && a.links == b.links && a.version == b.version;
}

// Everything below `folder`, which is not in the other tree.
std::uint64_t count_below(const Tree& tree, const Node& folder) {
  std::uint64_t count = 0;
  tree.list(folder, 0, [&](std::string_view, const Node& node, std::uint64_t) {
    count += 1 + (is_folder(node.stat) ? count_below(tree, node) : 0);
    return true;
  });
  return count;
}

std::uint64_t count_with(const Tree& tree, const Node& node) {
  return 1 + (is_folder(node.stat) ? count_below(tree, node) : 0);
}

class Comparison {
 public:
  Comparison(const Tree& before, const Tree& after) : before_(before), after_(after) {}

  // `was` and `is` are one folder, under one id.
  void compare(const Node& was, const Node& is) {
    bool differs = !same_facts(was.stat, is.stat);
    std::vector<std::pair<Node, Node>> folders;
    before_.list(was, 0, [&](std::string_view name, const Node& old, std::uint64_t) {
      const auto now = after_.child(is, name);
      if (now && now->id == old.id) {
        if (is_folder(old.stat)) folders.emplace_back(old, *now);
        return true;
      }
      differs = true;
      changes_.names.push_back({was.id, std::string(name)});
      const bool both_files = now && !is_folder(now->stat) && !is_folder(old.stat);
      if (both_files) ++changes_.changed;
      if (!both_files) changes_.removed += count_with(before_, old);
      if (!both_files && now) changes_.added += count_with(after_, *now);
      return true;
    });
    after_.list(is, 0, [&](std::string_view name, const Node& now, std::uint64_t) {
      if (before_.child(was, name)) return true;
      differs = true;
      changes_.names.push_back({was.id, std::string(name)});
      changes_.added += count_with(after_, now);
      return true;
    });
    if (differs) changes_.folders.push_back(was.id);
    for (const auto& [old, now] : folders) compare(old, now);
  }

  KernelChanges take() { return std::move(changes_); }

 private:
  const Tree& before_;
  const Tree& after_;
  KernelChanges changes_;
};

}  // namespace

KernelChanges changes_between(const Tree& before, const Tree& after) {
  Comparison comparison(before, after);
  comparison.compare(before.root(), after.root());
  return comparison.take();
}

}  // namespace winnow
