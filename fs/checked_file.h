// Writes a file beside its place, with a running checksum, and puts it there whole on commit(); destroyed
// before that, nothing is left. Throws StartupError when something cannot be written. Not thread-safe.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <memory>
#include <string>

#include "cache/file_descriptor.h"

namespace winnow {

class CheckedFile {
 public:
  explicit CheckedFile(const std::string& path);
  ~CheckedFile();

  void skip(std::size_t bytes);  // leaves a gap at the start that the checksum does not cover
  void write(const void* data, std::size_t bytes);
  void write_at_start(const void* data, std::size_t bytes);
  std::uint64_t checksum();  // XXH3 of all that write() was given
  void commit();

 private:
  struct FreeState {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  void flush();
  void put(const void* data, std::size_t bytes, std::uint64_t at);
  [[noreturn]] void fail(const char* verb) const;

  const std::string path_;
  const std::string temporary_;
  FileDescriptor fd_;
  std::unique_ptr<XXH3_state_t, FreeState> state_;
  std::string buffer_;
  std::uint64_t written_ = 0;
  bool committed_ = false;
};

}  // namespace winnow
