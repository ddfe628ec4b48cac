#include "fs/filesystem.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <nlohmann/json.hpp>

namespace winnow {

namespace {

using BOOST_OUTCOME_V2_NAMESPACE::success;

// Nodes outside the catalogue: .winnow, what it holds, and the folders below .winnow/exact. A folder needs an
// id of its own there, since the kernel allows a folder one name; files are the same files.
constexpr NodeId kWinnowFolder{kGeneratedBit};
constexpr NodeId kExactRoot = in_exact_view(kRootNode);
constexpr std::string_view kWinnowName = ".winnow";
constexpr std::string_view kExactName = "exact";
constexpr std::string_view kAttributeName = "user.winnow";

// Positions in a listing: 1 is behind ".", 2 behind "..", then come the tree's.
constexpr std::uint64_t kBehindDots = 2;

bool is_exact_folder(NodeId id) { return (value(id) & kExactBit) != 0; }
NodeId without_view(NodeId id) { return NodeId{value(id) & ~kExactBit}; }
NodeId edition_node(std::size_t file, std::uint64_t number) {
  return NodeId{kGeneratedBit | number << 8 | (file + 1)};
}
std::uint64_t edition_number(NodeId id) { return (value(id) & ~kGeneratedBit) >> 8; }
std::size_t edition_file(NodeId id) { return (value(id) & 0xff) - 1; }

Attributes edition_attributes(const GeneratedFiles::Edition& edition) {
  return {.id = edition_node(edition.file, edition.number), .stat = edition.stat, .generated = true};
}

}  // namespace

Filesystem::Filesystem(OwnershipOptions ownership, const Snapshots& snapshots, ReadPath& reads,
                       PageTier* pages)
    : ownership_(ownership), snapshots_(snapshots), reads_(reads), pages_(pages) {}

Attributes Filesystem::shown(const Node& node, bool exact) const {
  Attributes attributes{.id = node.id, .stat = node.stat};
  if (exact && is_folder(node.stat)) attributes.id = in_exact_view(node.id);
  if (ownership_.uid) attributes.stat.uid = *ownership_.uid;
  if (ownership_.gid) attributes.stat.gid = *ownership_.gid;
  if (!is_symlink(node.stat)) attributes.stat.mode &= ~(ownership_.umask & 07777);
  return attributes;
}

Attributes Filesystem::winnow_folder() const {
  FileStat stat{.mode = S_IFDIR | 0555, .uid = getuid(), .gid = getgid(), .links = 3};
  stat.version.mtime = {snapshots_.tree()->catalogue().header().taken_at, 0};
  stat.version.ctime = stat.birth = stat.version.mtime;
  return {.id = kWinnowFolder, .stat = stat};
}

Result<Attributes> Filesystem::lookup_generated(std::string_view name) {
  if (name == kExactName) return attributes(kExactRoot);
  const auto file = generated_.find(name);
  if (!file) return errno_error(ENOENT);
  return edition_attributes(generated_.publish(*file));
}

Result<Attributes> Filesystem::lookup(NodeId folder, std::string_view name) {
  if (name.size() > NAME_MAX) return errno_error(ENAMETOOLONG);
  if (folder == kWinnowFolder) return lookup_generated(name);
  if (folder == kRootNode && name == kWinnowName) return winnow_folder();
  const auto tree = snapshots_.tree();
  const auto at = tree->find(without_view(folder));
  if (!at) return errno_error(ESTALE);
  if (!is_folder(at->stat)) return errno_error(ENOTDIR);
  const auto node = tree->child(*at, name);
  if (!node) return errno_error(ENOENT);
  if (is_regular(node->stat)) lookups_.add(node->id);
  return shown(*node, is_exact_folder(folder));
}

Result<Attributes> Filesystem::attributes(NodeId id) {
  if (id == kWinnowFolder) return winnow_folder();
  if (is_generated(id)) {
    const auto edition = generated_.edition(edition_file(id), edition_number(id));
    if (!edition) return errno_error(ESTALE);
    return edition_attributes(*edition);
  }
  const auto node = snapshots_.tree()->find(without_view(id));
  if (!node) return errno_error(ESTALE);
  return shown(*node, is_exact_folder(id));
}

Result<std::string> Filesystem::read_link(NodeId id) {
  const auto tree = snapshots_.tree();
  const auto node = tree->find(id);
  if (!node) return errno_error(ESTALE);
  if (!is_symlink(node->stat)) return errno_error(EINVAL);
  return std::string(tree->target(*node));
}

void Filesystem::list_generated(std::uint64_t position, const Visit& visit) {
  const std::size_t names = generated_.count() + 3;
  for (std::uint64_t at = position; at < names; ++at) {
    bool more = false;
    if (at == 0) more = visit(".", winnow_folder(), 1);
    if (at == 1) more = visit("..", shown(snapshots_.tree()->root(), false), 2);
    if (at == 2) more = visit(kExactName, shown(snapshots_.tree()->root(), true), 3);
    if (at > 2) {
      const Attributes listed{
          .id = edition_node(at - 3, 0), .stat = generated_.stat(at - 3), .generated = true};
      more = visit(generated_.name(at - 3), listed, at + 1);
    }
    if (!more) return;
  }
}

Result<void> Filesystem::list(NodeId folder, std::uint64_t position, bool gives_nodes, const Visit& visit) {
  if (folder == kWinnowFolder) {
    list_generated(position, visit);
    return success();
  }
  const auto tree = snapshots_.tree();
  const auto at = tree->find(without_view(folder));
  if (!at) return errno_error(ESTALE);
  if (!is_folder(at->stat)) return errno_error(ENOTDIR);
  const bool exact = is_exact_folder(folder);
  if (position < 1 && !visit(".", shown(*at, exact), 1)) return success();
  const Attributes above = folder == kExactRoot ? winnow_folder() : shown(tree->parent(*at), exact);
  if (position < 2 && !visit("..", above, 2)) return success();
  const std::uint64_t behind = position > kBehindDots ? position - kBehindDots : 0;
  tree->list(*at, behind, [&](std::string_view name, const Node& node, std::uint64_t next) {
    if (!visit(name, shown(node, exact), next + kBehindDots)) return false;
    if (gives_nodes && is_regular(node.stat)) lookups_.add(node.id);
    return true;
  });
  return success();
}

void Filesystem::forget(NodeId id, std::uint64_t times) {
  if (is_generated(id) && id != kWinnowFolder) return generated_.forget(edition_number(id));
  if (is_generated(id) || is_exact_folder(id)) return;
  if (lookups_.forget(id, times) && pages_ != nullptr) pages_->note_forgotten(id);
}

void Filesystem::note_open(NodeId id, int pid) {
  if (is_generated(id) || is_exact_folder(id)) return;
  opens_.fetch_add(1, std::memory_order_relaxed);
  if (opened_) opened_(id, pid);
  if (pages_ != nullptr) pages_->note_open(id);
}

void Filesystem::read(NodeId id, std::uint64_t offset, std::size_t size, BytesWaiter reply) {
  if (is_generated(id)) {
    const auto edition = generated_.edition(edition_file(id), edition_number(id));
    if (!edition) return reply(errno_error(id == kWinnowFolder ? EISDIR : ESTALE));
    return reply(edition->text.part(offset, size));
  }
  const auto tree = snapshots_.tree();
  const auto node = tree->find(id);
  if (!node) return reads_.refuse_as_stale(tree->names_of_superseded(id), std::move(reply));
  if (!is_regular(node->stat)) return reply(errno_error(EISDIR));
  if (missed_ && offset == 0) missed_(id);
  reads_.read(*tree, *node, offset, size, std::move(reply));
}

Result<std::string> Filesystem::extended_attribute(NodeId id, std::string_view name) {
  if (name != kAttributeName || is_generated(id) || is_exact_folder(id)) return errno_error(ENODATA);
  const auto node = snapshots_.tree()->find(id);
  if (!node) return errno_error(ESTALE);
  if (!is_regular(node->stat)) return errno_error(ENODATA);
  const std::uint64_t resident = pages_ != nullptr ? pages_->residency().bytes(sample_of(id)) : 0;
  const BelowPages below = describe_ ? describe_(sample_of(id), node->stat.version.size) : BelowPages{};
  const nlohmann::json facts = {{"id", value(id)},
                                {"score", nullptr},
                                {"importance", below.importance},
                                {"group", nullptr},
                                {"tier", resident > 0 ? "memory" : below.on_disk ? "disk" : "source"},
                                {"on_disk", below.on_disk},
                                {"page_cache_bytes", resident}};
  return facts.dump();
}

}  // namespace winnow
