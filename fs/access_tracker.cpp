#include "fs/access_tracker.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/result.h"

namespace winnow {

namespace {

// Each event comes with an open descriptor: read few at a time, and have room for them, or events are lost in
// silence.
constexpr std::size_t kEventsAtOnce = 256;
constexpr int kGatherMilliseconds = 2;
constexpr int kQuietMilliseconds = 5;  // without an open, after which the files are let go of

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

FileDescriptor open_fanotify() {
  return FileDescriptor(fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_TID,
                                      O_RDONLY | O_LARGEFILE | O_CLOEXEC | O_NOATIME));
}

bool is_own_thread(int thread) { return tgkill(getpid(), thread, 0) == 0; }

}  // namespace

bool AccessTracker::is_permitted() { return static_cast<bool>(open_fanotify()); }

std::unique_ptr<AccessTracker> AccessTracker::start(const std::string& mountpoint, OnOpen on_open,
                                                    RecentOpens& recent, std::string& why) {
  raise_descriptor_limit();
  FileDescriptor fanotify = open_fanotify();
  if (!fanotify) {
    why = "fanotify_init: " + errno_text(errno);
    return nullptr;
  }
  if (fanotify_mark(fanotify.get(), FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN, AT_FDCWD,
                    mountpoint.c_str()) != 0) {
    why = "fanotify_mark: " + errno_text(errno);
    return nullptr;
  }
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return std::unique_ptr<AccessTracker>(
      new AccessTracker(std::move(fanotify), std::move(wake), std::move(on_open), recent));
}

AccessTracker::AccessTracker(FileDescriptor fanotify, FileDescriptor wake, OnOpen on_open, RecentOpens& recent)
    : fanotify_(std::move(fanotify)), wake_(std::move(wake)), on_open_(std::move(on_open)), recent_(recent) {
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "winnow-track");
}

AccessTracker::~AccessTracker() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
  recent_.clear();
}

void AccessTracker::run() {
  pollfd watched[] = {{wake_.get(), POLLIN, 0}, {fanotify_.get(), POLLIN, 0}};
  bool holds_files = false;
  while (true) {
    const int ready = poll(watched, 2, holds_files ? kQuietMilliseconds : -1);
    if (ready < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    if (ready == 0) recent_.clear();
    holds_files = ready != 0;
    while (drain()) {
    }
    // A reader whose open finds this thread asleep pays for waking it: let some opens gather.
    if (poll(watched, 1, kGatherMilliseconds) > 0) return;
  }
}

bool AccessTracker::drain() {
  alignas(fanotify_event_metadata) char buffer[kEventsAtOnce * sizeof(fanotify_event_metadata)];
  const ssize_t got = read(fanotify_.get(), buffer, sizeof buffer);
  if (got <= 0) return false;
  auto left = got;
  for (auto* event = reinterpret_cast<fanotify_event_metadata*>(buffer); FAN_EVENT_OK(event, left);
       event = FAN_EVENT_NEXT(event, left)) {
    if ((event->mask & FAN_Q_OVERFLOW) != 0) ++overflows_;
    if (event->fd < 0) continue;
    FileDescriptor opened(event->fd);
    if (is_own_thread(event->pid)) continue;
    // From what the kernel knows already: asking for more would send us a request for each open.
    struct statx found {};
    if (statx(opened.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &found) != 0) continue;
    events_.fetch_add(1, std::memory_order_relaxed);
    const NodeId id{found.stx_ino};
    on_open_(id, event->pid);
    recent_.add(id, std::move(opened));
  }
  return true;
}

}  // namespace winnow
