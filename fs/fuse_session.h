// Serves a mount through libfuse: translates requests to calls of the core and results to replies, and
// decides nothing. The only source file that includes <fuse_lowlevel.h>.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "fs/filesystem.h"
#include "fs/fuse_device.h"

struct fuse_session;

namespace winnow {

struct SessionOptions {
  bool answer_opens = false;   // OPEN is answered and counted, instead of refused once for all
  bool use_page_cache = true;  // false needs answer_opens: each READ then comes to us
  bool succeeds = false;       // a worker before this one served the mount
  unsigned threads = 6;  // some more than FetchOptions::waiting_callers: a disk may hang
};

class FuseSession {
 public:
  // Throws StartupError if libfuse refuses.
  FuseSession(SessionOptions options, Filesystem& filesystem, FuseDevice& device);
  ~FuseSession();

  // Begins to serve, in threads of its own; goes on where a predecessor ended.
  void start();
  void wait();  // returns when the kernel has closed the connection
  bool ended() const { return running_threads_ == 0; }

  const SessionOptions& options() const { return options_; }
  Filesystem& filesystem() { return filesystem_; }
  FuseDevice& device() { return device_; }

 private:
  void serve(unsigned number);
  void process(FuseDevice::Request request);
  void process_released(FuseDevice::Request request);

  const SessionOptions options_;
  Filesystem& filesystem_;
  FuseDevice& device_;
  fuse_session* session_ = nullptr;
  std::vector<std::thread> threads_;
  std::atomic<unsigned> running_threads_{0};
  WorkerPool released_{{.name = "winnow-redo", .max_threads = 1}};  // processes what had to wait
};

}  // namespace winnow
