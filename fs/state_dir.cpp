#include "fs/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cache/result.h"
#include "fs/skipped_names.h"

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

// A daemon whose mount was just cleared takes moments to end.
bool lock_patiently(int fd) {
  for (int i = 0; i < 50; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    usleep(20'000);
  }
  return false;
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
  make();
  lock_.reset(open((path_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_) {
    throw StartupError("state directory " + path_ + " cannot be written: " + errno_text(errno) +
                       "; give another --state-dir");
  }
  if (!lock_patiently(lock_.get())) {
    throw StartupError("state directory " + path_ + " is in use by another winnow" + holder_of(lock_.get()) +
                       "; unmount that one or give another --state-dir");
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(lock_.get(), 0) == 0) (void)!pwrite(lock_.get(), pid.data(), pid.size(), 0);
  had_catalogue_ = has_catalogue();
}

StateDir::StateDir(const std::string& path, FileDescriptor lock)
    : path_(path), kept_(true), lock_(std::move(lock)) {}

void StateDir::make() {
  std::error_code error;
  for (files::path at = path_; !at.empty() && !files::exists(at, error); at = at.parent_path()) {
    first_made_ = at.string();
    if (at == at.parent_path()) break;
  }
  if (first_made_.empty() && !is_ours()) {
    throw StartupError("state directory " + path_ +
                       " is not a folder of Winnow's or an empty one; give another --state-dir");
  }
  files::create_directories(path_, error);
  if (error) {
    throw StartupError("state directory " + path_ + " cannot be made: " + error.message() +
                       "; give another --state-dir");
  }
  if (!first_made_.empty()) files::permissions(path_, files::perms::owner_all, error);
}

// Empty, or with the lock that every state directory has: else its files are somebody's.
bool StateDir::is_ours() const {
  std::error_code error;
  if (!files::is_directory(path_, error)) return false;
  return files::is_empty(path_, error) || files::exists(files::path(path_) / "lock", error);
}

StateDir::~StateDir() {
  if (kept_ || had_catalogue_) return;
  std::error_code ignored;
  for (const char* name : {"catalogue", "catalogue.told", "journal", "control", "holder", "mount.json", "skipped", "order", "scores",
                           "recording.json", "winnow.log", "lock"}) {
    files::remove(files::path(path_) / name, ignored);
  }
  if (first_made_.empty()) return;
  for (files::path at = path_; files::remove(at, ignored) && at != first_made_; at = at.parent_path()) {
  }
}

bool StateDir::has_catalogue() const { return access(catalogue_path().c_str(), F_OK) == 0; }

std::shared_ptr<Tree> StateDir::open_tree() const {
  return std::make_shared<Tree>(std::make_shared<const Catalogue>(catalogue_path()), journal_path());
}

// The catalogue has room for a folder's reasons only.
LeftOut StateDir::left_out(const Catalogue& catalogue) const {
  LeftOut counts = load_skipped(skipped_path(), false).counts;
  const LeftOut in_catalogue = catalogue.left_out();
  for (const LeftOutReason& reason : {kSpecial, kUnreadable, kReserved, kLinks})
    counts.*reason.count = in_catalogue.*reason.count;
  return counts;
}

void StateDir::check_source(const Tree& tree, const std::string& identity) const {
  const std::string theirs(tree.catalogue().source());
  if (theirs == identity) return;
  throw StartupError("state directory " + path_ + " belongs to the source " + theirs +
                     "; give this mount another --state-dir");
}

}  // namespace winnow
