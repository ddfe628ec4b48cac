#include <fcntl.h>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <unistd.h>

#include "fs/holder/holder.h"

namespace winnow::holder {

namespace {

char log_path[4096];
bool to_stderr = true;

}  // namespace

void log_to(const char* state_dir, bool foreground) {
  to_stderr = foreground;
  snprintf(log_path, sizeof log_path, "%s/winnow.log", state_dir);
}

// Opened for each line: the worker rotates the file.
void log_line(const char* format, ...) {
  char text[1024];
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  localtime_r(&now.tv_sec, &local);
  size_t used = strftime(text, sizeof text, "[%Y-%m-%d %H:%M:%S", &local);
  used += static_cast<size_t>(
      snprintf(text + used, sizeof text - used, ".%03ld] [holder] ", now.tv_nsec / 1000000));
  va_list arguments;
  va_start(arguments, format);
  const int written = vsnprintf(text + used, sizeof text - used - 1, format, arguments);
  va_end(arguments);
  used += static_cast<size_t>(written > 0 ? written : 0);
  if (used > sizeof text - 2) used = sizeof text - 2;
  text[used++] = '\n';
  const int fd = to_stderr ? STDERR_FILENO : open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  (void)!write(fd, text, used);
  if (!to_stderr) close(fd);
}

}  // namespace winnow::holder
