#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <iostream>

#include "cache/result.h"
#include "fs/commands.h"
#include "fs/holder_lookup.h"
#include "fs/holder_protocol.h"
#include "fs/make_source.h"
#include "fs/mount_lookup.h"
#include "fs/mount_options.h"
#include "fs/survival.h"
#include "fs/version.h"

namespace winnow {

namespace {

struct Passed {
  FileDescriptor device;
  FileDescriptor memory;
  FileDescriptor lock;
};

Passed ask_for_descriptors(int holder) {
  const char ask = holder_protocol::kPass;
  char byte = 0;
  iovec part{&byte, 1};
  int fds[3] = {-1, -1, -1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const bool answered =
      send(holder, &ask, 1, MSG_NOSIGNAL) == 1 && recvmsg(holder, &message, MSG_CMSG_CLOEXEC) == 1;
  if (!answered || byte != holder_protocol::kOk || CMSG_FIRSTHDR(&message) == nullptr)
    throw StartupError("another upgrade of this mount is under way; try again when it is done");
  std::memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fds);
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1]), FileDescriptor(fds[2])};
}

// The new holder takes over from the old one; it stays, this command does not.
pid_t start_holder(const MountOptions& options, const Passed& passed, int holder, int ready) {
  std::vector<std::string> words =
      holder_words(options, passed.device.get(), passed.memory.get(), passed.lock.get());
  words.push_back("takeover=" + std::to_string(holder));
  words.push_back("ready=" + std::to_string(ready));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  setsid();
  (void)!chdir("/");
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  for (const int fd : {passed.device.get(), passed.memory.get(), passed.lock.get(), holder, ready})
    fcntl(fd, F_SETFD, 0);
  execv(arguments[0], arguments.data());
  _exit(127);
}

// What the new worker says: '+' when it serves, '-' and a sentence when it cannot, nothing when it died.
std::string first_words(int from_worker) {
  std::string message;
  char buffer[512];
  for (ssize_t n; (n = read(from_worker, buffer, sizeof buffer)) > 0;)
    message.append(buffer, static_cast<std::size_t>(n));
  return message;
}

// Whatever this version cannot read, it must not take over.
void check_can_serve(const MountOptions& options) {
  const Catalogue readable(options.state_dir + "/catalogue");
  s3::make_paths_absolute();
  make_reachable_source(options);  // also with this process's credentials, which the new version inherits
}

void wait_until_held_by(pid_t successor, SurvivalMemory& memory) {
  while (memory.holder_pid != successor) {
    if (waitpid(successor, nullptr, WNOHANG) != 0)
      throw StartupError("the new version ended while it took over; the old one goes on");
    usleep(1'000);
  }
}

// By its holder's process, since a mount that gave up tells nothing; by the mount, if that is in another
// container.
std::string state_dir_of(const std::string& mountpoint) {
  if (const auto holder = find_holder(mountpoint)) return holder->state_dir;
  return read_status(mountpoint).value("state_dir", "");
}

void upgrade(const std::string& path) {
  MountOptions options = load_mount_options(state_dir_of(find_mount(path).mountpoint) + "/mount.json");
  options.foreground = false;
  check_can_serve(options);

  FileDescriptor line = connect_to_holder(options.state_dir);
  const Passed passed = ask_for_descriptors(line.get());
  MappedSurvival survival(passed.memory.get());
  if (survival.get().can_resend == 0)
    throw StartupError("this kernel (before 6.9) cannot hand requests on, so an upgrade would fail open files; "
                       "unmount and mount again when nobody reads");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw StartupError("no pipe: " + errno_text(errno));
  const FileDescriptor from_worker(ends[0]);
  FileDescriptor to_us(ends[1]);
  const pid_t successor = start_holder(options, passed, line.get(), to_us.get());
  line.reset();  // the successor's alone: should it die, the old holder sees the end
  to_us.reset();
  const std::string said = first_words(from_worker.get());
  if (!said.starts_with('+')) {
    waitpid(successor, nullptr, 0);
    throw StartupError("the new version did not come up and the old one goes on: " +
                       (said.empty() ? "see " + options.state_dir + "/winnow.log" : said.substr(1)));
  }
  wait_until_held_by(successor, survival.get());
  std::cout << "upgraded " << options.mountpoint << " to winnow " << kVersion << std::endl;
}

}  // namespace

void add_upgrade_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("upgrade", "Let this version of winnow take over a running mount");
  auto mountpoint = std::make_shared<std::string>();
  command->add_option("MOUNTPOINT", *mountpoint, "Where it is mounted")->required();
  command->callback([=] { upgrade(*mountpoint); });
}

}  // namespace winnow
