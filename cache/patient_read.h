// Reads from a source that may fail for a while: a passing failure is tried again, with growing pauses.
#pragma once

#include <chrono>
#include <functional>

#include "cache/file_ref.h"
#include "cache/flight_table.h"
#include "cache/source.h"

namespace winnow {

// `pause` waits that long before the next try, or says that there is none (false): the answer is then EIO.
Result<Bytes> read_patiently(Source& source, const FileRef& file, Range range,
                             const std::function<bool(std::chrono::milliseconds)>& pause);

}  // namespace winnow
