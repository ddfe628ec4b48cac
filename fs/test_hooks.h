// Ways for tests to make things fail that do not fail by themselves. In a build without WINNOW_TEST_HOOKS all
// of them are absent.
#pragma once

#include <string_view>

namespace winnow {

// The value of an environment variable that a test has set; null if it has not, or there are no hooks.
const char* test_hook(const char* name);

// Aborts, or waits for ever, if a test wants the name to.
void stumble_if_wanted(std::string_view name);

// Dies at once, and once, if the file that the hook names is there.
void die_if_wanted(const char* hook);

}  // namespace winnow
