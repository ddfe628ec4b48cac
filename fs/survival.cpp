#include "fs/survival.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "cache/page_counts.h"
#include "cache/result.h"

namespace winnow {

FileDescriptor make_survival_memory() {
  FileDescriptor fd(memfd_create("winnow-survival", MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(kLedgerOffset + PageCounts::kBytes)) != 0) {
    throw StartupError("no shared memory for the holder: " + errno_text(errno));
  }
  void* mapped = mmap(nullptr, sizeof(SurvivalMemory), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) throw StartupError("no shared memory for the holder: " + errno_text(errno));
  auto* memory = new (mapped) SurvivalMemory{};
  memory->magic = SurvivalMemory::kMagic;
  memory->version = SurvivalMemory::kVersion;
  munmap(mapped, sizeof(SurvivalMemory));
  return fd;
}

void forget_connection(SurvivalMemory& memory, int fd) {
  memory.init_size = 0;
  memory.init_reply_size = 0;
  for (auto& slot : memory.served) slot = 0;
  for (auto& suspect : memory.suspects) suspect.unique = 0, suspect.crashes = 0;
  fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(kLedgerOffset),
            static_cast<off_t>(PageCounts::kBytes));
}

MappedSurvival::MappedSurvival(int fd) {
  static_assert(sizeof(SurvivalMemory) <= kLedgerOffset);
  void* mapped = mmap(nullptr, sizeof(SurvivalMemory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) throw StartupError("the holder's memory cannot be mapped: " + errno_text(errno));
  memory_ = static_cast<SurvivalMemory*>(mapped);
  if (memory_->magic == SurvivalMemory::kMagic && memory_->version == SurvivalMemory::kVersion) return;
  munmap(mapped, sizeof(SurvivalMemory));
  throw StartupError("the mount's holder has another memory layout than this version's (" +
                     std::to_string(SurvivalMemory::kVersion) + "); unmount and mount again");
}

MappedSurvival::~MappedSurvival() { munmap(memory_, sizeof(SurvivalMemory)); }

std::string holder_program() {
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto path = own.parent_path() / "winnow-holder";
  if (error || access(path.c_str(), X_OK) != 0) {
    throw StartupError("winnow-holder is missing at " + path.string() + "; install it beside winnow");
  }
  return path.string();
}

std::vector<std::string> holder_words(const MountOptions& options, int device, int memory, int lock) {
  std::error_code error;
  std::vector<std::string> words = {
      holder_program(),
      "device=" + std::to_string(device),
      "memory=" + std::to_string(memory),
      "lock=" + std::to_string(lock),
      "state-dir=" + options.state_dir,
      "mountpoint=" + options.mountpoint,
      "worker=" + std::filesystem::read_symlink("/proc/self/exe", error).string(),
      "watchdog=" + std::to_string((options.watchdog.count() + 999) / 1000),
      "max-restarts=" + std::to_string(options.max_restarts)};
  if (options.foreground) words.emplace_back("foreground");
  return words;
}

namespace {

constexpr auto kSayWithin = std::chrono::seconds(2);
constexpr auto kStartsWithin = std::chrono::seconds(60);

void send_word(int socket, char byte, int fd) {
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  sendmsg(socket, &message, MSG_NOSIGNAL);
}

// Gives this thread a descriptor table of its own, with no more than these and the standard three.
// False if that is not permitted.
bool keep_only(std::vector<int> kept) {
  if (unshare(CLONE_FILES) != 0) return false;
  std::sort(kept.begin(), kept.end());
  int next = STDERR_FILENO + 1;
  for (const int fd : kept) {
    if (fd > next) close_range(static_cast<unsigned>(next), static_cast<unsigned>(fd) - 1, 0);
    next = std::max(next, fd + 1);
  }
  close_range(static_cast<unsigned>(next), ~0U, 0);
  return true;
}

}  // namespace

LifeLine::LifeLine(FileDescriptor socket, SurvivalMemory& memory)
    : memory_(memory), socket_(std::move(socket)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  fcntl(socket_.get(), F_SETFD, FD_CLOEXEC);
}

LifeLine::~LifeLine() {
  stop_ = true;
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void LifeLine::start(const std::vector<int>& kept, Renew renew) {
  std::vector<int> all = kept;
  all.push_back(wake_.get());
  all.push_back(socket_.get());
  const int number = socket_.get();
  bool has_own_table = false;
  thread_ = std::thread([this, all, renew = std::move(renew), number, &has_own_table] {
    sigset_t every;
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, nullptr);  // they are the daemon's
    {
      const std::lock_guard lock(mutex_);
      has_own_table = keep_only(all);
      started_ = true;
    }
    changed_.notify_all();
    run(FileDescriptor(number), renew);
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return started_; });
  if (!has_own_table) (void)socket_.release();
  socket_.reset();
}

void LifeLine::run(FileDescriptor line, const Renew& renew) {
  while (true) {
    pollfd watched[] = {{wake_.get(), POLLIN, 0}, {line.get(), 0, 0}};
    poll(watched, 2, 1000);
    eventfd_t ignored = 0;
    if (watched[0].revents != 0) eventfd_read(wake_.get(), &ignored);
    for (const char word : take_words()) send_word(line.get(), word, -1);
    changed_.notify_all();
    if (stop_) return;
    if (is_well()) memory_.beats.fetch_add(1, std::memory_order_relaxed);
    if ((watched[1].revents & (POLLHUP | POLLERR)) == 0) continue;
    if (FileDescriptor renewed = renew()) line = std::move(renewed);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // should the new one end at once, too
  }
}

void LifeLine::serves(std::function<bool()> is_well) {
  const std::lock_guard lock(mutex_);
  is_well_ = std::move(is_well);
}

bool LifeLine::is_well() {
  const std::lock_guard lock(mutex_);
  return is_well_ ? is_well_() : std::chrono::steady_clock::now() - made_at_ < kStartsWithin;
}

std::string LifeLine::take_words() {
  const std::lock_guard lock(mutex_);
  return std::exchange(words_, {});
}

void LifeLine::say(char byte, int fd) {
  if (socket_) return send_word(socket_.get(), byte, fd);
  std::unique_lock lock(mutex_);
  words_.push_back(byte);
  eventfd_write(wake_.get(), 1);
  changed_.wait_for(lock, kSayWithin, [this] { return words_.empty(); });
}

char LifeLine::wait_for_word() {
  char byte = 0;
  return recv(socket_.get(), &byte, 1, 0) == 1 ? byte : '\0';
}

}  // namespace winnow
