// A source filesystem that misbehaves on command: a read-only passthrough of a folder, steered by files in a
// control folder beside it.
//   stall   while it exists, the operations it names (words of: read open stat list) wait; to end it, remove it
//   fail    holds a number: that many of the next reads fail with EIO
//   waiting is written by this program: how many operations wait now
// Usage: slowfs FOLDER CONTROL MOUNTPOINT (stays in the foreground; SIGTERM ends it)
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <fcntl.h>
#include <fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

namespace {

std::string folder;
std::string control;
std::atomic<int> waiting{0};
std::mutex control_mutex;  // guards the files "waiting" and "fail"

std::string full(const char* path) { return folder + path; }

bool is_stalled(const std::string& operation) {
  std::ifstream file(control + "/stall");
  for (std::string word; file >> word;) {
    if (word == operation) return true;
  }
  return false;
}

void tell_waiting(int change) {
  const std::lock_guard lock(control_mutex);
  waiting += change;
  // Renamed into place, so that nobody reads half of it.
  std::ofstream(control + "/waiting.new") << waiting << '\n';
  rename((control + "/waiting.new").c_str(), (control + "/waiting").c_str());
}

// One thread looks for all that wait: a hundred would keep the machine busy.
std::mutex stall_mutex;  // guards nothing but the wait
std::condition_variable stall_changed;

void watch_control() {
  while (true) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (waiting > 0 && access((control + "/stall").c_str(), F_OK) != 0) stall_changed.notify_all();
  }
}

void stall(const char* operation) {
  if (!is_stalled(operation)) return;
  tell_waiting(1);
  std::unique_lock lock(stall_mutex);
  while (is_stalled(operation)) stall_changed.wait(lock);
  lock.unlock();
  tell_waiting(-1);
}

bool must_fail() {
  const std::lock_guard lock(control_mutex);
  int left = 0;
  std::ifstream(control + "/fail") >> left;
  if (left <= 0) return false;
  std::ofstream(control + "/fail") << left - 1 << '\n';
  return true;
}

void* on_init(fuse_conn_info*, fuse_config* config) {
  config->use_ino = 1;
  config->direct_io = 1;  // every read comes here, so that it can stall or fail
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  std::thread(watch_control).detach();
  return nullptr;
}

int on_getattr(const char* path, struct stat* found, fuse_file_info*) {
  stall("stat");
  return lstat(full(path).c_str(), found) == 0 ? 0 : -errno;
}

int on_readlink(const char* path, char* target, std::size_t size) {
  const ssize_t length = readlink(full(path).c_str(), target, size - 1);
  if (length < 0) return -errno;
  target[length] = '\0';
  return 0;
}

int on_open(const char* path, fuse_file_info* info) {
  stall("open");
  const int fd = open(full(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  info->fh = static_cast<std::uint64_t>(fd);
  return 0;
}

int on_read(const char*, char* buffer, std::size_t size, off_t offset, fuse_file_info* info) {
  stall("read");
  if (must_fail()) return -EIO;
  const ssize_t got = pread(static_cast<int>(info->fh), buffer, size, offset);
  return got < 0 ? -errno : static_cast<int>(got);
}

int on_release(const char*, fuse_file_info* info) {
  close(static_cast<int>(info->fh));
  return 0;
}

int on_readdir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*,
               fuse_readdir_flags) {
  stall("list");
  DIR* const listing = opendir(full(path).c_str());
  if (listing == nullptr) return -errno;
  while (const dirent* entry = readdir(listing)) {
    struct stat found {};
    found.st_ino = entry->d_ino;
    found.st_mode = static_cast<mode_t>(DTTOIF(entry->d_type));
    fill(buffer, entry->d_name, &found, 0, fuse_fill_dir_flags{});
  }
  closedir(listing);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  folder = argv[1];
  control = argv[2];
  fuse_operations operations{};
  operations.init = on_init;
  operations.getattr = on_getattr;
  operations.readlink = on_readlink;
  operations.open = on_open;
  operations.read = on_read;
  operations.release = on_release;
  operations.readdir = on_readdir;
  // More threads than any test stalls, so that what is not stalled goes on.
  char program[] = "slowfs", foreground[] = "-f", option[] = "-o",
       settings[] = "max_threads=512,max_idle_threads=512,fsname=slowfs,subtype=slowfs";
  char* arguments[] = {program, foreground, option, settings, argv[3], nullptr};
  return fuse_main(5, arguments, &operations, nullptr);
}
