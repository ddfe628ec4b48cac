#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "cache/file_descriptor.h"
#include "cache/result.h"
#include "fs/commands.h"
#include "fs/control.h"
#include "fs/holder_lookup.h"
#include "fs/mount_lookup.h"
#include "fs/mounting.h"

namespace winnow {

namespace {

constexpr int kLongestEndMs = 30'000;

// The daemon holds its state directory until it has ended: whoever mounts again right away needs it free.
void wait_for_end(int pid) {
  const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return;
  pollfd ended{process.get(), POLLIN, 0};
  poll(&ended, 1, kLongestEndMs);
}

[[noreturn]] void fail(const std::string& mountpoint, int error) {
  if (error == EBUSY) {
    throw StartupError(mountpoint + " is in use; end its readers (fuser -vm " + mountpoint +
                       " names them) or run winnow unmount --lazy " + mountpoint);
  }
  throw StartupError("unmounting " + mountpoint + " failed: " + errno_text(error) +
                     "; run as the user who mounted it, or as root");
}

// By force: what still waits there waits for nobody.
void clear_abandoned(const std::string& mountpoint) {
  if (const int error = unmount(mountpoint, UnmountKind::kForce)) fail(mountpoint, error);
}

UnmountKind parse_kind(const std::string& kind) {
  return kind == "lazy" ? UnmountKind::kLazy : kind == "force" ? UnmountKind::kForce : UnmountKind::kPlain;
}

// A worker unmounts with manners: it knows what holds its own mount for moments.
bool ask_worker(const std::string& mountpoint, const std::string& kind) {
  std::string socket;
  try {
    socket = read_status(mountpoint).value("control_socket", "");
  } catch (const StartupError&) {
    if (!find_holder(mountpoint)) throw;
    return false;  // one that gave up, and has no worker
  }
  call_daemon(socket, {{"command", "unmount"}, {"kind", kind}});
  return true;
}

void unmount_live(const std::string& mountpoint, const std::string& kind) {
  const auto holder = find_holder(mountpoint);
  if (!ask_worker(mountpoint, kind)) {
    if (const int error = unmount(mountpoint, parse_kind(kind))) fail(mountpoint, error);
  }
  if (kind == "plain" && holder) wait_for_end(holder->pid);
}

// One that was cut off, not left, comes back: its holder is about to mount it anew.
bool stays_dead(const std::string& mountpoint) {
  for (int i = 0; i < 50 && find_holder(mountpoint); ++i) {
    if (!is_dead_mount(mountpoint)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  return is_dead_mount(mountpoint) || is_abandoned(mountpoint);
}

}  // namespace

void add_unmount_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("unmount", "Unmount, also what a dead daemon left behind");
  auto mountpoint = std::make_shared<std::string>();
  auto lazy = std::make_shared<bool>(false);
  auto force = std::make_shared<bool>(false);
  command->add_option("MOUNTPOINT", *mountpoint, "Where it is mounted")->required();
  CLI::Option* lazily = command->add_flag("--lazy", *lazy, "Detach now; it ends when its last reader leaves");
  command->add_flag("--force", *force, "Detach now, and let reads under way fail")->excludes(lazily);
  command->callback([=] {
    const std::string at = resolve_mountpoint(*mountpoint);
    const auto entry = mount_at(at);
    if (!entry || entry->type != "fuse.winnow") {
      throw StartupError("nothing of Winnow's is mounted on " + at +
                         "; winnow status lists the mounts there are");
    }
    if (stays_dead(at)) {
      clear_abandoned(at);
    } else {
      unmount_live(at, *lazy ? "lazy" : *force ? "force" : "plain");
    }
    std::cout << "unmounted " << at << std::endl;
  });
}

}  // namespace winnow
