#include "fs/snapshots.h"

#include <malloc.h>
#include <unistd.h>

#include <ctime>

#include "fs/catalogue_writer.h"
#include "fs/skipped_names.h"

namespace winnow {

namespace {

Listing list_or_throw(Source& source, ScanProgress& progress) {
  auto listing = source.list(progress);
  if (listing) return std::move(listing.value());
  if (listing.error() == errno_error(ECANCELED))
    throw StartupError("the scan of the source was stopped; start it again");
  throw StartupError("scanning the source failed at " + progress.failed_at + ": " +
                     listing.error().message() + "; nothing was changed, try again when the storage answers");
}

void write_snapshot(Source& source, const StateDir& state, bool follow_symlinks, const Tree* previous,
                    const Listing& listing) {
  save_skipped(state.skipped_path(), listing);
  write_catalogue(
      state.catalogue_path(), listing, previous,
      {.source = source.identity(), .follows_symlinks = follow_symlinks, .taken_at = std::time(nullptr)});
}

// Nothing but ctime moved: a hard link was made, or the mode or owner changed. (Or somebody wrote and put
// mtime back, which is why this counts as a change wherever bytes were served already.)
bool only_ctime_moved(const Version& was, Version now) {
  now.ctime = was.ctime;
  return now == was;
}

}  // namespace

void take_snapshot(Source& source, const StateDir& state, bool follow_symlinks, const Tree* previous,
                   ScanProgress& progress) {
  write_snapshot(source, state, follow_symlinks, previous, list_or_throw(source, progress));
}

bool means_changed(const std::error_code& error) {
  switch (error.value()) {
    case ESTALE:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case EXDEV:
    case ENXIO:
      return true;
    default:
      return false;
  }
}

Snapshots::Snapshots(Source& source, const StateDir& state, bool follow_symlinks, std::shared_ptr<Tree> tree)
    : source_(source), state_(state), follow_symlinks_(follow_symlinks), tree_(std::move(tree)) {}

KernelChanges Snapshots::refresh(ScanProgress& progress) {
  const std::lock_guard one_at_a_time(refresh_mutex_);
  std::shared_ptr<Tree> before;
  std::shared_ptr<Tree> after;
  {
    const Listing listing = list_or_throw(source_, progress);
    const std::lock_guard no_change_meanwhile(change_mutex_);
    before = tree();
    // One that was left there is older, and so is what the kernel knows.
    if (link(state_.catalogue_path().c_str(), state_.told_catalogue_path().c_str()) != 0 && errno != EEXIST)
      throw StartupError("the snapshot cannot be kept while the kernel is told of the new one: " + errno_text(errno) +
                         "; nothing was changed");
    write_snapshot(source_, state_, follow_symlinks_, before.get(), listing);
    after = state_.open_tree();
    const std::lock_guard lock(tree_mutex_);
    tree_ = after;
  }
  malloc_trim(0);  // a listing of millions would otherwise stay in our resident memory
  return changes_between(*before, *after);
}

std::optional<KernelChanges> Snapshots::untold() const {
  if (access(state_.told_catalogue_path().c_str(), F_OK) != 0) return std::nullopt;
  const Tree told(std::make_shared<const Catalogue>(state_.told_catalogue_path()), "");
  return changes_between(told, *tree());
}

void Snapshots::kernel_was_told() const { unlink(state_.told_catalogue_path().c_str()); }

// What all of a file's names lead to now; nullopt if that is nothing, no regular file, or several.
Result<std::optional<FileStat>> Snapshots::current_facts(const std::vector<Name>& names) {
  std::optional<FileStat> now;
  for (const Name& name : names) {
    const auto stat = source_.stat(name.path);
    if (!stat && !means_changed(stat.error())) return stat.error();
    const bool is_file = stat && is_regular(stat.value());
    if (!is_file || (now && !(now->version == stat.value().version))) return std::optional<FileStat>();
    now = stat.value();
  }
  return now;
}

Snapshots::Verdict Snapshots::examine(const FileRef& file, bool served) {
  const std::lock_guard lock(change_mutex_);
  const auto shown = tree();
  const auto node = shown->find(node_of(file.id));
  if (!node) return {.names = shown->names_of_superseded(node_of(file.id))};
  if (!(node->stat.version == file.version))
    return {.kind = Verdict::Kind::kRetry, .version = node->stat.version};
  std::vector<Name> names = shown->names(*node);
  const auto now = current_facts(names);
  // A source that went away as a whole has no files either; that must not look as if they were removed.
  if (now && !now.value() && !source_.stat(""))
    return {.kind = Verdict::Kind::kError, .error = errno_error(EIO)};
  if (!now) return {.kind = Verdict::Kind::kError, .error = now.error()};
  if (now.value() && now.value()->version == file.version)
    return {.kind = Verdict::Kind::kRetry, .version = file.version};
  if (now.value() && !served && only_ctime_moved(file.version, now.value()->version)) {
    shown->adopt(node->id, *now.value());
    return {.kind = Verdict::Kind::kRetry, .adopted = true, .version = now.value()->version};
  }
  shown->amend(node->id, now.value());
  return {.kind = Verdict::Kind::kStale, .names = std::move(names), .noticed_first = true};
}

}  // namespace winnow
