#include "fs/checked_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "cache/result.h"

namespace winnow {

namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

}  // namespace

CheckedFile::CheckedFile(const std::string& path)
    : path_(path),
      temporary_(path + ".new"),
      fd_(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)),
      state_(XXH3_createState()) {
  if (!fd_) fail("made");
  XXH3_64bits_reset(state_.get());
}

CheckedFile::~CheckedFile() {
  if (!committed_) unlink(temporary_.c_str());
}

void CheckedFile::fail(const char* verb) const {
  throw StartupError("state file " + temporary_ + " cannot be " + verb + ": " + errno_text(errno) +
                     "; free space there or give another --state-dir");
}

void CheckedFile::skip(std::size_t bytes) { written_ += bytes; }

void CheckedFile::write(const void* data, std::size_t bytes) {
  buffer_.append(static_cast<const char*>(data), bytes);
  if (buffer_.size() >= kBufferBytes) flush();
}

void CheckedFile::flush() {
  XXH3_64bits_update(state_.get(), buffer_.data(), buffer_.size());
  put(buffer_.data(), buffer_.size(), written_);
  written_ += buffer_.size();
  buffer_.clear();
}

void CheckedFile::put(const void* data, std::size_t bytes, std::uint64_t at) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = pwrite(fd_.get(), from, bytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("written");
    from += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

void CheckedFile::write_at_start(const void* data, std::size_t bytes) { put(data, bytes, 0); }

std::uint64_t CheckedFile::checksum() {
  flush();
  return XXH3_64bits_digest(state_.get());
}

void CheckedFile::commit() {
  flush();
  if (fdatasync(fd_.get()) != 0) fail("written");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("put in place");
  committed_ = true;
  const FileDescriptor folder(
      open(std::filesystem::path(path_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) fsync(folder.get());
}

}  // namespace winnow
