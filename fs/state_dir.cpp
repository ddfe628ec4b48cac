#include "fs/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cache/result.h"

namespace winnow {

namespace {

namespace files = std::filesystem;

std::string base_path() {
  if (geteuid() == 0) return "/var/lib/winnow";
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::string(state) + "/winnow";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::string(home) + "/.local/state/winnow";
  }
  throw StartupError("no place for the state: HOME is not set; give --state-dir");
}

std::string holder_of(int lock_fd) {
  char text[32] = {};
  const ssize_t length = pread(lock_fd, text, sizeof text - 1, 0);
  return length > 0 ? " (process " + std::string(text, static_cast<std::size_t>(length)) + ")" : "";
}

}  // namespace

std::string StateDir::default_path(const std::string& source, const std::string& mountpoint) {
  const std::string key = source + '\n' + mountpoint;
  char name[17];
  snprintf(name, sizeof name, "%016llx",
           static_cast<unsigned long long>(XXH3_64bits(key.data(), key.size())));
  return base_path() + "/" + name;
}

StateDir::StateDir(const std::string& path) : path_(path) {
  std::error_code error;
  made_ = files::create_directories(path, error);
  if (error) {
    throw StartupError("state directory " + path + " cannot be made: " + error.message() +
                       "; give another --state-dir");
  }
  if (made_) files::permissions(path, files::perms::owner_all, error);
  lock_.reset(open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_) {
    throw StartupError("state directory " + path + " cannot be written: " + errno_text(errno) +
                       "; give another --state-dir");
  }
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw StartupError("state directory " + path + " is in use by another winnow" + holder_of(lock_.get()) +
                       "; unmount that one or give another --state-dir");
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(lock_.get(), 0) == 0) (void)!pwrite(lock_.get(), pid.data(), pid.size(), 0);
}

StateDir::~StateDir() {
  std::error_code ignored;
  if (has_catalogue() || !lock_) return;
  // Nothing worth keeping came of it: leave no trace of a failed start.
  for (const char* name : {"lock", "journal", "control", "winnow.log"})
    files::remove(files::path(path_) / name, ignored);
  if (made_) files::remove(path_, ignored);
}

bool StateDir::has_catalogue() const { return access(catalogue_path().c_str(), F_OK) == 0; }

std::shared_ptr<Tree> StateDir::open_tree() const {
  return std::make_shared<Tree>(std::make_shared<const Catalogue>(catalogue_path()), journal_path());
}

void StateDir::check_source(const Tree& tree, const std::string& identity) const {
  const std::string theirs(tree.catalogue().source());
  if (theirs == identity) return;
  throw StartupError("state directory " + path_ + " belongs to the source " + theirs +
                     "; give this mount another --state-dir");
}

}  // namespace winnow
