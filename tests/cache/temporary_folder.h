// A folder of a test's own, with everything in it removed at the end. Paths are relative to it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace winnow {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "winnow-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = std::filesystem::canonical(pattern).string();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  void folder(const std::string& name) const { std::filesystem::create_directories(*this / name); }
  void file(const std::string& name, const std::string& content = "") const {
    outlast(name);
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    overwrite(name, content);
  }
  // The same without care for times: for files nobody watches for changes.
  void overwrite(const std::string& name, const std::string& content) const {
    std::ofstream out(*this / name, std::ios::binary | std::ios::trunc);
    out << content;
    if (!out.flush()) throw std::runtime_error("cannot write " + name);
  }
  // A new file under the name of an old one, as careful writers do it.
  void replace(const std::string& name, const std::string& content) const {
    file(name + ".tmp", content);
    std::filesystem::rename(*this / (name + ".tmp"), *this / name);
  }
  void change_mode(const std::string& name, mode_t mode) const {
    outlast(name);
    if (chmod((*this / name).c_str(), mode) != 0) throw std::runtime_error("cannot change " + name);
  }
  void symlink(const std::string& target, const std::string& name) const {
    std::filesystem::create_symlink(target, *this / name);
  }
  void hard_link(const std::string& existing, const std::string& name) const {
    std::filesystem::create_hard_link(*this / existing, *this / name);
  }
  void remove(const std::string& name) const { std::filesystem::remove_all(*this / name); }
  bool has(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(*this / name));
  }
  bool empty() const { return std::filesystem::is_empty(path_); }
  std::string content(const std::string& name) const {
    std::ifstream in(*this / name, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  // Older kernels move file times in steps of some milliseconds: a change must come in a later one to be
  // seen.
  void outlast(const std::string& name) const {
    struct stat old {};
    if (lstat((*this / name).c_str(), &old) != 0) return;
    const std::string probe = path_ + ".probe";
    struct stat now = old;
    while (std::pair(now.st_ctim.tv_sec, now.st_ctim.tv_nsec) <=
           std::pair(old.st_ctim.tv_sec, old.st_ctim.tv_nsec)) {
      const int fd = open(probe.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      if (write(fd, "x", 1) != 1 || fstat(fd, &now) != 0) throw std::runtime_error("no clock");
      close(fd);
    }
    unlink(probe.c_str());
  }

  std::string path_;
};

// `size` bytes that differ from place to place, so that a wrong offset shows.
inline std::string pattern(std::size_t size, unsigned seed = 1) {
  std::string text(size, '\0');
  std::uint32_t state = seed * 2654435761u + 1;
  for (char& c : text) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

}  // namespace winnow
