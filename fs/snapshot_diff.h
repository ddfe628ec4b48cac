// What the kernel must be told when one tree takes the place of another: names that now lead elsewhere, also
// nowhere or from nowhere (it remembers missing names too), and folders whose listing or attributes differ.
#pragma once

#include <vector>

#include "fs/tree.h"

namespace winnow {

struct KernelChanges {
  struct ChangedName {
    NodeId folder{};
    std::string name;
  };
  std::vector<ChangedName> names;
  std::vector<NodeId> folders;
  std::uint64_t added = 0;
  std::uint64_t removed = 0;
  std::uint64_t changed = 0;
};

KernelChanges changes_between(const Tree& before, const Tree& after);

}  // namespace winnow
