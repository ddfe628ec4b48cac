#include "cache/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <climits>
#include <cstdlib>

namespace winnow {

namespace {

Timestamp timestamp(const statx_timestamp& from) { return {from.tv_sec, from.tv_nsec}; }

FileStat to_file_stat(const struct statx& from) {
  FileStat stat;
  stat.mode = from.stx_mode;
  stat.uid = from.stx_uid;
  stat.gid = from.stx_gid;
  stat.links = from.stx_nlink;
  stat.version = {.tag = from.stx_ino,
                  .device = (from.stx_dev_major << 20) | from.stx_dev_minor,
                  .size = from.stx_size,
                  .mtime = timestamp(from.stx_mtime),
                  .ctime = timestamp(from.stx_ctime)};
  if (from.stx_mask & STATX_BTIME) stat.birth = timestamp(from.stx_btime);
  return stat;
}

}  // namespace

Result<FileDescriptor> open_beneath(int root_fd, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  long fd = -1;
  do {
    fd = syscall(SYS_openat2, root_fd, path.empty() ? "." : path.c_str(), &how, sizeof how);
  } while (fd < 0 && (errno == EINTR || errno == EAGAIN));  // EAGAIN: a rename raced with the walk
  if (fd < 0) return last_error();
  return FileDescriptor(static_cast<int>(fd));
}

Result<std::string> resolve_beneath(const std::string& root, const std::string& path) {
  char resolved[PATH_MAX];
  if (realpath(join_path(root, path).c_str(), resolved) == nullptr) return last_error();
  const std::string_view found(resolved);
  if (found == root) return std::string();
  const std::string prefix = root == "/" ? root : root + "/";
  if (!found.starts_with(prefix)) return errno_error(EXDEV);
  return std::string(found.substr(prefix.size()));
}

Result<FileDescriptor> open_resolved_beneath(const std::string& root, int root_fd, const std::string& path,
                                             int flags) {
  BOOST_OUTCOME_TRY(resolved, resolve_beneath(root, path));
  return open_beneath(root_fd, resolved, flags);
}

Result<FileStat> stat_at(int fd, const char* name) {
  struct statx found {};
  const int flags = AT_SYMLINK_NOFOLLOW | (*name == '\0' ? AT_EMPTY_PATH : 0);
  if (statx(fd, name, flags, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) return last_error();
  return to_file_stat(found);
}

std::string join_path(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty() && path.back() != '/' && !name.empty()) path += '/';
  path += name;
  return path;
}

}  // namespace winnow
