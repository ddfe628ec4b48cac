// The trace of a mount: which files were read, in order. CSV (fs/csv.h), one access a line, after a header
// line that names the columns, in any order:
//
//   seconds  when, since 1970 (only for people: replaying keeps the order of the lines)
//   path     from the mount's root; its first folder (below train, val or test) is the label
//   bytes    the file's size
//   reader   optional: the thread that read; the process, if it has but one
//   epoch    optional: a number; one higher than all before begins an epoch
//   score    optional: a file's importance to the model; its last one counts for the whole replay
//
// path and bytes must be there. Columns of other names are left alone. A path that comes with another size is
// another version: what was cached of it is of no use. A last line without a line end, as a full disk or a
// power cut leaves it, is left out if it does not make sense.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/access_trace.h"

namespace winnow {

// What `winnow status --record` writes.
inline constexpr std::string_view kTraceHeader = "seconds,path,bytes,reader\n";

struct RecordedAccess {
  std::int64_t microseconds = 0;  // since 1970
  std::string_view path;
  std::uint64_t bytes = 0;
  int reader = 0;  // 0: not known
};

void append_line(std::string& text, const RecordedAccess& access);

struct TraceOptions {
  std::string scores_file;   // CSV with columns path and score, which go before those of the trace
  double unimportant = 0.5;  // the share of the scored files that loses the vote, lowest scores first
};

// Throws StartupError or PolicyError with a sentence that names file, line and column.
AccessTrace read_trace(const std::string& file, const TraceOptions& options);  // "-" is standard input

}  // namespace winnow
