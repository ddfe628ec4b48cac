#include "cache/patient_read.h"

#include "cache/back_off.h"

namespace winnow {

Result<Bytes> read_patiently(Source& source, const FileRef& file, Range range,
                             const std::function<bool(std::chrono::milliseconds)>& pause) {
  BackOff back_off;
  while (true) {
    Result<Bytes> bytes = source.read(file.path, file.version, range.offset, range.size);
    if (bytes || !is_passing(bytes.error())) return bytes;
    if (!pause(back_off.next())) return errno_error(EIO);
  }
}

}  // namespace winnow
