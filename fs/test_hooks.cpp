#include "fs/test_hooks.h"

#include <cstdlib>

namespace winnow {

const char* test_hook(const char* name) { return std::getenv(name); }

void crash_if_wanted(std::string_view name) {
  static const char* const wanted = test_hook("WINNOW_TEST_CRASH_ON");
  if (wanted != nullptr && name == wanted) std::abort();
}

}  // namespace winnow
