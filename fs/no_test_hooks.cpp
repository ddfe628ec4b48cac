#include "fs/test_hooks.h"

namespace winnow {

const char* test_hook(const char*) { return nullptr; }
void crash_if_wanted(std::string_view) {}

}  // namespace winnow
