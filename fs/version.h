#pragma once

namespace winnow {

inline constexpr const char* kVersion = WINNOW_VERSION;

}  // namespace winnow
