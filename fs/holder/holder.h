// The holder: keeps a mount's FUSE descriptor while workers come and go. Single-threaded, libc only, no
// allocation: what cannot fail need not be survived. One per mount.
//
// It starts a worker, learns of its death from the life line (a socket that one thread of the worker holds,
// which never waits for a filesystem and so dies at once), starts the next one, and after too many deaths
// answers EIO itself, so that nobody hangs. It decides nothing else: mounting is the worker's business.
#pragma once

#include <cstdint>
#include <sys/types.h>

#include "fs/survival_memory.h"

namespace winnow::holder {

struct Settings {
  int device = -1;
  int memory = -1;    // of SurvivalMemory and the ledger behind it
  int lock = -1;      // the state directory's
  int ready = -1;     // workers report on it until one serves
  int life = -1;      // of a worker that already serves, together with its pid
  int adopted = 0;    // that pid
  int takeover = -1;  // the socket to the holder to succeed
  int max_restarts = 50;
  int watchdog_seconds = 30;
  const char* state_dir = nullptr;
  const char* worker = nullptr;  // the program
  const char* mountpoint = nullptr;
  bool foreground = false;
};

class Holder {
 public:
  explicit Holder(const Settings& settings) : settings_(settings) {}
  int run();  // serves until the mount is gone: the exit code of the process

 private:
  enum class Start { kFresh, kSuccessor, kRemount, kStandby };
  static constexpr int kDeathsBeforeBackOff = 5;

  // run.cpp: the loop, and workers' lives
  bool set_up();
  void adopt();
  void clean_up();
  void watch();
  bool is_hit() const { return worker_ > 0 && memory_->hit_pid == worker_; }  // the worker, by a deadly signal
  void on_life_line();
  void on_ready();
  void on_signal();
  void check_watchdog();
  void start_worker(Start kind);
  [[noreturn]] void become_worker(Start kind, int life);
  void end_worker();
  void let_worker_end();
  void close_life();

  // deaths.cpp: what follows a worker's death
  void on_death(bool hung);
  bool is_the_end(int status);
  void count_death(int status, bool hung);
  void say_death(int status, bool hung, int64_t pause);
  int64_t pause_after_death() const;
  void give_up();
  void reap();
  int wait_for_status();

  // succession.cpp: commands, and the holder of another version
  void listen_for_commands();
  void accept_command();
  void on_command();
  void check_command();
  void restart();
  void pass_descriptors(int peer);
  void on_successor();
  void drop_successor();
  bool take_over();

  Settings settings_;
  SurvivalMemory* memory_ = nullptr;
  int life_ = -1;
  pid_t worker_ = 0;
  bool is_child_ = true;  // of ours: waitpid tells how it ended
  int worker_status_ = -1;
  bool ready_ = false;       // the worker serves
  bool ever_ready_ = false;  // so did one, at some time
  bool given_up_ = false;    // requests get EIO, from us
  bool done_ = false;
  bool succeeded_ = false;  // by another holder: leave all as it is
  bool aborted_ = false;
  bool told_to_end_ = false;  // by a signal that was passed on to the worker
  int signals_ = -1;
  int commands_ = -1;
  int asking_ = -1;  // one who connected there and has not said yet what it wants
  int64_t asking_since_ = 0;
  int successor_ = -1;  // a holder that has our descriptors and may ask us to yield
  int exit_code_ = 0;
  int64_t deaths_[kDeathsBeforeBackOff] = {};
  int restarts_ = 0;  // since the last minute without a death
  bool has_beaten_ = false;  // this worker
  uint64_t last_beats_ = 0;
  int64_t last_beat_at_ = 0;
  int64_t last_look_at_ = 0;
};

// Has the kernel send again what dead workers had taken: it hangs until it is answered.
void resend(int device);
// Answers one request with EIO. False if the mount is gone.
bool answer_with_error(int device, SurvivalMemory& memory);
void detach(const char* mountpoint);

int64_t now_ms();
void log_line(const char* format, ...) __attribute__((format(printf, 1, 2)));
void log_to(const char* state_dir, bool foreground);

}  // namespace winnow::holder
