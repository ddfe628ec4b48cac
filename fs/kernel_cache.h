// The kernel's caches of our mount, as the core needs them. Each call may wait for a page or a folder that
// the kernel has locked for a request of ours: call it only from a notification thread, with no lock held
// that serving needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "fs/node_id.h"

namespace winnow {

class KernelCache {
 public:
  virtual ~KernelCache() = default;

  // Puts bytes into a file's page cache. ENOENT is normal: the kernel does not know the node (any more).
  virtual std::error_code store(NodeId id, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual void invalidate_name(NodeId folder, std::string_view name) = 0;
  virtual void invalidate_node(NodeId id) = 0;        // attributes and pages, of a folder its listing
  virtual void invalidate_attributes(NodeId id) = 0;  // pages stay

  // Bytes of root/path in the page cache; with drop, what is left after dropping what may be dropped. The
  // node's attributes stay. nullopt if the kernel cannot tell or the path is not ours (any more).
  virtual std::optional<std::uint64_t> resident(const std::string& path) = 0;
  virtual std::optional<std::uint64_t> drop(NodeId id, const std::string& path) = 0;
};

// What a change of names means to the kernel, wherever the folder is shown.
inline void invalidate_name_in_views(KernelCache& kernel, NodeId folder, std::string_view name) {
  kernel.invalidate_name(folder, name);
  kernel.invalidate_name(in_exact_view(folder), name);
}
inline void invalidate_folder_in_views(KernelCache& kernel, NodeId folder) {
  kernel.invalidate_node(folder);
  kernel.invalidate_node(in_exact_view(folder));
}

}  // namespace winnow
