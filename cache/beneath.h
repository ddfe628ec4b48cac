// Opening paths below a folder, such that no symlink leads out of it.
#pragma once

#include <string>
#include <string_view>

#include "cache/file_descriptor.h"
#include "cache/file_stat.h"
#include "cache/result.h"

namespace winnow {

// Opens root/path; a symlink anywhere on the way is ELOOP.
Result<FileDescriptor> open_beneath(int root_fd, const std::string& path, int flags);

// The same, but symlinks are resolved first; EXDEV if that leads outside `root` (an absolute, resolved path).
Result<FileDescriptor> open_resolved_beneath(const std::string& root, int root_fd, const std::string& path,
                                             int flags);

// Where root/path leads, relative to root; EXDEV outside, ENOENT if dangling, ELOOP for a loop.
Result<std::string> resolve_beneath(const std::string& root, const std::string& path);

// statx of name (or of fd itself if name is empty); never follows a final symlink.
Result<FileStat> stat_at(int fd, const char* name);

std::string join_path(std::string_view folder, std::string_view name);

}  // namespace winnow
