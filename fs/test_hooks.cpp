#include "fs/test_hooks.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace winnow {

const char* test_hook(const char* name) { return std::getenv(name); }

void stumble_if_wanted(std::string_view name) {
  static const char* const crash = test_hook("WINNOW_TEST_CRASH_ON");
  static const char* const hang = test_hook("WINNOW_TEST_HANG_ON");
  if (crash != nullptr && name == crash) std::abort();
  while (hang != nullptr && name == hang) pause();
}

void die_if_wanted(const char* hook) {
  const char* const flag = test_hook(hook);
  if (flag != nullptr && unlink(flag) == 0) raise(SIGKILL);
}

}  // namespace winnow
