// What the kernel asks, answered from the tree, the read path and the generated files. Knows nothing of FUSE,
// so it is tested unmounted. Thread-safe; no call waits: a read that must be fetched is answered later.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cache/result.h"
#include "fs/generated_files.h"
#include "fs/lookup_counts.h"
#include "fs/node_id.h"
#include "fs/page_tier.h"
#include "fs/read_path.h"
#include "fs/snapshots.h"

namespace winnow {

struct OwnershipOptions {
  std::optional<std::uint32_t> uid;  // instead of the source's
  std::optional<std::uint32_t> gid;
  std::uint32_t umask = 0;  // permission bits taken away
};

struct Attributes {
  NodeId id{};
  FileStat stat;
  bool generated = false;  // a new one at each lookup: the kernel must not remember the name
};

class Filesystem {
 public:
  // `pages` may be null: the mount then does without the page cache.
  Filesystem(OwnershipOptions ownership, const Snapshots& snapshots, ReadPath& reads, PageTier* pages);

  GeneratedFiles& generated() { return generated_; }

  Result<Attributes> lookup(NodeId folder, std::string_view name);  // counts as given to the kernel
  Result<Attributes> attributes(NodeId id);
  Result<std::string> read_link(NodeId id);

  // Calls visit(name, attributes, next) for the names behind `position` (0: from the first) until it gives
  // false. With `gives_nodes`, what visit accepted counts as given to the kernel, but for "." and ".." and
  // what is generated.
  using Visit = std::function<bool(std::string_view, const Attributes&, std::uint64_t)>;
  Result<void> list(NodeId folder, std::uint64_t position, bool gives_nodes, const Visit& visit);

  void read(NodeId id, std::uint64_t offset, std::size_t size, BytesWaiter reply);
  void forget(NodeId id, std::uint64_t times);
  void note_open(NodeId id, int pid);  // somebody opened it; pid 0: not known who
  // Who is told of every open, and of every READ of a file's beginning. Before the first request.
  void on_access(std::function<void(NodeId, int pid)> opened, std::function<void(NodeId)> missed) {
    opened_ = std::move(opened);
    missed_ = std::move(missed);
  }
  // Who knows of the tiers below the page cache: what getfattr tells of a file. Before the first request.
  struct BelowPages {
    bool on_disk = false;
    double importance = 1;
  };
  void on_describe(std::function<BelowPages(SampleId, std::uint64_t size)> describe) { describe_ = std::move(describe); }
  bool kernel_knows(NodeId id) const { return lookups_.has(id); }
  Result<std::string> extended_attribute(NodeId id, std::string_view name);

  std::uint64_t opens() const { return opens_; }
  const Snapshots& snapshots() const { return snapshots_; }

 private:
  Attributes shown(const Node& node, bool exact) const;
  Attributes winnow_folder() const;
  Result<Attributes> lookup_generated(std::string_view name);
  void list_generated(std::uint64_t position, const Visit& visit);

  const OwnershipOptions ownership_;
  const Snapshots& snapshots_;
  ReadPath& reads_;
  PageTier* const pages_;
  GeneratedFiles generated_;
  LookupCounts lookups_;
  std::atomic<std::uint64_t> opens_{0};
  std::function<void(NodeId, int)> opened_;
  std::function<void(NodeId)> missed_;
  std::function<BelowPages(SampleId, std::uint64_t)> describe_;
};

}  // namespace winnow
