#include "cache/read_window.h"

#include <algorithm>

namespace winnow {

Range ReadWindow::next(SampleId id, Range asked, std::uint64_t file_size) {
  const std::uint64_t begin = asked.offset / piece_bytes_ * piece_bytes_;
  const std::uint64_t least = asked.end() - begin;
  const std::lock_guard lock(mutex_);
  if (streams_.size() >= kMaxStreams && !streams_.contains(value(id))) streams_.clear();
  Stream& stream = streams_[value(id)];
  const bool reads_on =
      stream.bytes > 0 && begin <= stream.next_offset && stream.next_offset < asked.end() + kPage;
  stream.bytes = reads_on ? std::min(stream.bytes * 2, max_bytes_) : least;
  stream.bytes = (std::max(stream.bytes, least) + piece_bytes_ - 1) / piece_bytes_ * piece_bytes_;
  const std::uint64_t end = std::min(begin + stream.bytes, file_size);
  stream.next_offset = end;
  return {begin, end - begin};
}

}  // namespace winnow
