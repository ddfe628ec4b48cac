#include "fs/mounting.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "cache/result.h"
#include "fs/mount_table.h"

extern char** environ;

namespace winnow {

namespace {

namespace files = std::filesystem;

bool is_inside(const std::string& path, const std::string& folder) {
  return path == folder || folder == "/" || path.starts_with(folder + "/");
}

struct ProgramResult {
  int status = -1;
  std::string errors;
};

// Runs a program and gathers what it writes to standard error.
ProgramResult run(std::vector<std::string> words, std::vector<std::string> environment) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return {};
  FileDescriptor reading(pipe_ends[0]);
  FileDescriptor writing(pipe_ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);

  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);

  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  writing.reset();
  if (error != 0) return {.status = -1, .errors = words[0] + ": " + errno_text(error)};
  ProgramResult result;
  char buffer[512];
  for (ssize_t n; (n = read(reading.get(), buffer, sizeof buffer)) > 0;)
    result.errors.append(buffer, static_cast<std::size_t>(n));
  waitpid(pid, &result.status, 0);
  while (!result.errors.empty() && result.errors.back() == '\n') result.errors.pop_back();
  return result;
}

FileDescriptor receive_descriptor(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0) return FileDescriptor();
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return FileDescriptor();
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return FileDescriptor(fd);
}

FileDescriptor mount_as_root(const MountRequest& request) {
  FileDescriptor device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device && errno == ENOENT) {
    throw StartupError(
        "/dev/fuse is missing; load the fuse module (modprobe fuse) or give the container the device");
  }
  if (!device)
    throw StartupError("/dev/fuse cannot be opened: " + errno_text(errno) + "; run as a user who may");
  const std::string options = "fd=" + std::to_string(device.get()) +
                              ",rootmode=40000,user_id=" + std::to_string(getuid()) +
                              ",group_id=" + std::to_string(getgid()) + ",default_permissions" +
                              (request.allow_other ? ",allow_other" : "");
  if (mount(request.source.c_str(), request.mountpoint.c_str(), "fuse.winnow",
            MS_NOSUID | MS_NODEV | MS_RDONLY, options.c_str()) == 0) {
    return device;
  }
  const int error = errno;
  if (error == ENODEV) throw StartupError("the kernel has no FUSE; load the fuse module (modprobe fuse)");
  if (error == EPERM) {
    throw StartupError("mounting on " + request.mountpoint +
                       " is not permitted; a container needs CAP_SYS_ADMIN and /dev/fuse");
  }
  throw StartupError("mounting on " + request.mountpoint + " failed: " + errno_text(error));
}

// fusermount3 mounts with its own privileges and sends the device descriptor back over a socket.
FileDescriptor mount_as_user(const MountRequest& request) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw StartupError("no socket: " + errno_text(errno));
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  fcntl(ours.get(), F_SETFD, FD_CLOEXEC);
  std::string options = "ro,nosuid,nodev,default_permissions,subtype=winnow,fsname=";
  for (const char c : request.source) {
    if (c == ',' || c == '\\') options += '\\';
    options += c;
  }
  if (request.allow_other) options += ",allow_other";
  const auto result = run({"fusermount3", "-o", options, "--", request.mountpoint},
                          {"_FUSE_COMMFD=" + std::to_string(theirs.get())});
  theirs.reset();
  if (result.status != 0) {
    const std::string why = result.errors.empty() ? "fusermount3 failed" : result.errors;
    throw StartupError("mounting on " + request.mountpoint + " failed: " + why +
                       (result.status == -1 ? "; install the package fuse3, or mount as root" : ""));
  }
  FileDescriptor device = receive_descriptor(ours.get());
  if (!device)
    throw StartupError("mounting on " + request.mountpoint + " failed: fusermount3 sent no descriptor");
  return device;
}

}  // namespace

std::string resolve_mountpoint(const std::string& path) {
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) != nullptr) return resolved;
  // A dead mount refuses to be looked at, but its folder can still be named.
  std::error_code error;
  const files::path absolute = files::absolute(path, error).lexically_normal();
  std::string plain = absolute.string();
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  const std::string parent = files::path(plain).parent_path().string();
  if (realpath(parent.c_str(), resolved) == nullptr) return plain;
  return (std::string(resolved) == "/" ? "" : std::string(resolved)) + "/" +
         files::path(plain).filename().string();
}

void check_mountpoint(const std::string& mountpoint, const std::string& source) {
  if (const auto mounted = mount_at(mountpoint)) {
    const bool dead = is_dead_mount(mountpoint);
    if (mounted->type == "fuse.winnow" || dead) {
      throw StartupError(mountpoint + (dead ? " has a dead mount" : " is mounted already") +
                         "; run winnow unmount " + mountpoint + " first");
    }
  }
  struct stat found {};
  if (stat(mountpoint.c_str(), &found) != 0) {
    throw StartupError("mountpoint " + mountpoint + ": " + errno_text(errno) +
                       "; make the folder first (mkdir -p " + mountpoint + ")");
  }
  if (!S_ISDIR(found.st_mode))
    throw StartupError("mountpoint " + mountpoint + " is not a folder; name an empty folder");
  if (!source.empty() && is_inside(source, mountpoint)) {
    throw StartupError("the source " + source + " lies inside the mountpoint " + mountpoint +
                       ", which would hide it; mount elsewhere");
  }
  if (!source.empty() && is_inside(mountpoint, source)) {
    throw StartupError("the mountpoint " + mountpoint + " lies inside the source " + source +
                       ", which would contain itself; mount elsewhere");
  }
  std::error_code error;
  const bool empty = files::is_empty(mountpoint, error);
  if (error)
    throw StartupError("mountpoint " + mountpoint + " cannot be read: " + error.message() +
                       "; choose one you may use");
  if (!empty) throw StartupError("mountpoint " + mountpoint + " is not empty; name an empty folder");
}

FileDescriptor mount_fuse(const MountRequest& request) {
  return geteuid() == 0 ? mount_as_root(request) : mount_as_user(request);
}

int unmount(const std::string& mountpoint, UnmountKind kind) {
  if (geteuid() == 0) {
    const int flags = kind == UnmountKind::kPlain  ? 0
                      : kind == UnmountKind::kLazy ? MNT_DETACH
                                                   : MNT_DETACH | MNT_FORCE;
    return umount2(mountpoint.c_str(), flags | UMOUNT_NOFOLLOW) == 0 ? 0 : errno;
  }
  std::vector<std::string> words = {"fusermount3", "-u", "-q"};
  if (kind != UnmountKind::kPlain) words.emplace_back("-z");
  words.insert(words.end(), {"--", mountpoint});
  const auto result = run(words, {});
  if (result.status == 0) return 0;
  return mount_at(mountpoint) ? EBUSY : EINVAL;
}

}  // namespace winnow
