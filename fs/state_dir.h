// The folder a mount keeps between runs: its catalogue and journal, the log, the control socket, and a lock
// that keeps a second daemon out. Made if missing; what this process made and did not fill is removed again
// on failure.
#pragma once

#include <memory>
#include <string>

#include "cache/file_descriptor.h"
#include "fs/tree.h"

namespace winnow {

class StateDir {
 public:
  // The default place for one source at one mountpoint: below /var/lib for root, else the user's state
  // folder.
  static std::string default_path(const std::string& source, const std::string& mountpoint);

  // Makes and locks it. Throws StartupError if it cannot be made or another daemon holds it.
  explicit StateDir(const std::string& path);
  // One that another process has made and locked; `lock` is its descriptor.
  StateDir(const std::string& path, FileDescriptor lock);
  ~StateDir();

  const std::string& path() const { return path_; }
  std::string catalogue_path() const { return path_ + "/catalogue"; }
  std::string journal_path() const { return path_ + "/journal"; }
  // The snapshot that the kernel still goes by, while it is told of the next one.
  std::string told_catalogue_path() const { return path_ + "/catalogue.told"; }
  std::string log_path() const { return path_ + "/winnow.log"; }
  std::string socket_path() const { return path_ + "/control"; }
  std::string holder_socket_path() const { return path_ + "/holder"; }
  std::string skipped_path() const { return path_ + "/skipped"; }
  std::string order_path() const { return path_ + "/order"; }
  std::string scores_path() const { return path_ + "/scores"; }
  std::string options_path() const { return path_ + "/mount.json"; }
  std::string recording_path() const { return path_ + "/recording.json"; }  // while one is wanted

  int lock_fd() const { return lock_.get(); }
  bool has_catalogue() const;
  void keep() { kept_ = true; }
  // What the snapshot leaves out, for all reasons.
  LeftOut left_out(const Catalogue& catalogue) const;
  // Throws StartupError if there is none or it is corrupt.
  std::shared_ptr<Tree> open_tree() const;
  // Throws StartupError if the catalogue is another source's.
  void check_source(const Tree& tree, const std::string& identity) const;

 private:
  void make();
  bool is_ours() const;

  std::string path_;
  std::string first_made_;  // the uppermost folder that was missing; empty if none was
  bool had_catalogue_ = false;
  bool kept_ = false;
  FileDescriptor lock_;
};

}  // namespace winnow
