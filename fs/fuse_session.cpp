#define FUSE_USE_VERSION 314
#include "fs/fuse_session.h"

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <sys/statvfs.h>

#include <cstring>
#include <memory>

#include "fs/reader_errno.h"
#include "fs/test_hooks.h"

namespace winnow {

namespace {

FuseSession& session_of(fuse_req_t req) { return *static_cast<FuseSession*>(fuse_req_userdata(req)); }
Filesystem& core(fuse_req_t req) { return session_of(req).filesystem(); }

timespec to_timespec(const Timestamp& at) { return {at.seconds, static_cast<long>(at.nanoseconds)}; }

struct stat to_stat(const Attributes& attributes) {
  const FileStat& from = attributes.stat;
  struct stat to {};
  to.st_ino = shown_inode(attributes.id);
  to.st_mode = from.mode;
  to.st_nlink = from.links;
  to.st_uid = from.uid;
  to.st_gid = from.gid;
  to.st_size = static_cast<off_t>(from.version.size);
  to.st_blksize = kBlockBytes;
  to.st_blocks = static_cast<blkcnt_t>((from.version.size + 511) / 512);
  to.st_atim = to.st_mtim = to_timespec(from.version.mtime);
  to.st_ctim = to_timespec(from.version.ctime);
  return to;
}

fuse_entry_param to_entry(const Attributes& attributes) {
  fuse_entry_param entry{};
  entry.ino = value(attributes.id);
  entry.attr = to_stat(attributes);
  entry.attr_timeout = attributes.generated ? 0 : kForeverSeconds;
  entry.entry_timeout = attributes.generated ? 0 : kForeverSeconds;
  return entry;
}

void on_init(void* userdata, fuse_conn_info* connection) {
  const auto& options = static_cast<FuseSession*>(userdata)->options();
  // Plain READDIRPLUS: the automatic kind costs a LOOKUP a file later.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS_AUTO);
  const unsigned wanted = FUSE_CAP_READDIRPLUS | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_CACHE_SYMLINKS |
                          FUSE_CAP_ASYNC_READ | FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_NO_OPENDIR_SUPPORT |
                          (options.answer_opens ? 0u : FUSE_CAP_NO_OPEN_SUPPORT);
  connection->want |= wanted & connection->capable;
  connection->max_background = 512;
  connection->congestion_threshold = 384;
}

void on_lookup(fuse_req_t req, fuse_ino_t folder, const char* name) {
  stumble_if_wanted(name);
  const auto found = core(req).lookup(NodeId{folder}, name);
  if (found) {
    const fuse_entry_param entry = to_entry(found.value());
    fuse_reply_entry(req, &entry);
  } else if (found.error() == errno_error(ENOENT)) {
    fuse_entry_param nothing{};  // node 0 and a timeout: the kernel remembers that there is none
    nothing.entry_timeout = kForeverSeconds;
    fuse_reply_entry(req, &nothing);
  } else {
    fuse_reply_err(req, found.error().value());
  }
}

void on_forget(fuse_req_t req, fuse_ino_t node, std::uint64_t times) {
  core(req).forget(NodeId{node}, times);
  fuse_reply_none(req);
}

void on_forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
  for (std::size_t i = 0; i < count; ++i) core(req).forget(NodeId{forgets[i].ino}, forgets[i].nlookup);
  fuse_reply_none(req);
}

void on_getattr(fuse_req_t req, fuse_ino_t node, fuse_file_info*) {
  const auto found = core(req).attributes(NodeId{node});
  if (!found) {
    fuse_reply_err(req, found.error().value());
    return;
  }
  const struct stat stat = to_stat(found.value());
  fuse_reply_attr(req, &stat, found.value().generated ? 0 : kForeverSeconds);
}

void on_readlink(fuse_req_t req, fuse_ino_t node) {
  const auto target = core(req).read_link(NodeId{node});
  if (target) {
    fuse_reply_readlink(req, target.value().c_str());
  } else {
    fuse_reply_err(req, target.error().value());
  }
}

void on_open(fuse_req_t req, fuse_ino_t node, fuse_file_info* info) {
  const auto& options = session_of(req).options();
  if (!options.answer_opens) {
    fuse_reply_err(req, ENOSYS);  // the kernel then sends no OPEN and no RELEASE, for any file
    return;
  }
  core(req).note_open(NodeId{node}, fuse_req_ctx(req)->pid);
  info->keep_cache = options.use_page_cache;
  info->direct_io = !options.use_page_cache;
  fuse_reply_open(req, info);
}

void on_release(fuse_req_t req, fuse_ino_t, fuse_file_info*) { fuse_reply_err(req, 0); }
void on_opendir(fuse_req_t req, fuse_ino_t, fuse_file_info*) {
  fuse_reply_err(req, ENOSYS);
}  // listings are cached
void on_flush(fuse_req_t req, fuse_ino_t, fuse_file_info*) { fuse_reply_err(req, ENOSYS); }
void on_fsync(fuse_req_t req, fuse_ino_t, int, fuse_file_info*) { fuse_reply_err(req, ENOSYS); }
void on_lseek(fuse_req_t req, fuse_ino_t, off_t, int, fuse_file_info*) {
  fuse_reply_err(req, ENOSYS);
}  // no holes

void on_read(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  core(req).read(NodeId{node}, static_cast<std::uint64_t>(offset), size, [req](Result<Bytes> bytes) {
    if (bytes) {
      const auto span = bytes.value().span();
      fuse_reply_buf(req, reinterpret_cast<const char*>(span.data()), span.size());
    } else {
      fuse_reply_err(req, reader_errno(bytes.error()));
    }
  });
}

// Fills one reply with names; `plus` adds their attributes.
class ListingBuffer {
 public:
  ListingBuffer(fuse_req_t req, std::size_t size, bool plus)
      : req_(req), size_(size), plus_(plus), data_(std::make_unique_for_overwrite<char[]>(size)) {}

  bool add(std::string_view name, const Attributes& attributes, std::uint64_t next) {
    const std::string terminated(name);
    const std::size_t needed =
        plus_ ? add_plus(terminated, attributes, next) : add_plain(terminated, attributes, next);
    if (needed > size_ - used_) return false;
    used_ += needed;
    return true;
  }

  void reply() { fuse_reply_buf(req_, data_.get(), used_); }

 private:
  std::size_t add_plus(const std::string& name, const Attributes& attributes, std::uint64_t next) {
    fuse_entry_param entry = to_entry(attributes);
    if (name == "." || name == ".." || attributes.generated)
      entry.ino = 0;  // the kernel takes no node from these
    return fuse_add_direntry_plus(req_, data_.get() + used_, size_ - used_, name.c_str(), &entry,
                                  static_cast<off_t>(next));
  }
  std::size_t add_plain(const std::string& name, const Attributes& attributes, std::uint64_t next) {
    const struct stat stat = to_stat(attributes);
    return fuse_add_direntry(req_, data_.get() + used_, size_ - used_, name.c_str(), &stat,
                             static_cast<off_t>(next));
  }

  fuse_req_t req_;
  const std::size_t size_;
  const bool plus_;
  std::unique_ptr<char[]> data_;
  std::size_t used_ = 0;
};

void reply_listing(fuse_req_t req, fuse_ino_t folder, std::size_t size, off_t offset, bool plus) {
  ListingBuffer buffer(req, size, plus);
  const auto add = [&](std::string_view name, const Attributes& attributes, std::uint64_t next) {
    return buffer.add(name, attributes, next);
  };
  const auto listed = core(req).list(NodeId{folder}, static_cast<std::uint64_t>(offset), plus, add);
  if (listed) {
    buffer.reply();
  } else {
    fuse_reply_err(req, listed.error().value());
  }
}

void on_readdir(fuse_req_t req, fuse_ino_t folder, std::size_t size, off_t offset, fuse_file_info*) {
  reply_listing(req, folder, size, offset, false);
}

void on_readdirplus(fuse_req_t req, fuse_ino_t folder, std::size_t size, off_t offset, fuse_file_info*) {
  reply_listing(req, folder, size, offset, true);
}

void on_statfs(fuse_req_t req, fuse_ino_t) {
  const auto tree = core(req).snapshots().tree();
  const auto& header = tree->catalogue().header();
  struct statvfs space {};
  space.f_bsize = kBlockBytes;
  space.f_frsize = 4096;
  space.f_blocks = (header.total_bytes + 4095) / 4096;
  space.f_files = header.rows;
  space.f_namemax = 255;
  space.f_flag = ST_RDONLY;
  fuse_reply_statfs(req, &space);
}

void on_getxattr(fuse_req_t req, fuse_ino_t node, const char* name, std::size_t size) {
  const auto text = core(req).extended_attribute(NodeId{node}, name);
  if (!text) {
    fuse_reply_err(req, text.error().value());
  } else if (size == 0) {
    fuse_reply_xattr(req, text.value().size());
  } else if (size < text.value().size()) {
    fuse_reply_err(req, ERANGE);
  } else {
    fuse_reply_buf(req, text.value().data(), text.value().size());
  }
}

// None is listed: user.winnow answers to its name, but a copy of the data set must not carry it away.
void on_listxattr(fuse_req_t req, fuse_ino_t, std::size_t size) {
  if (size == 0) {
    fuse_reply_xattr(req, 0);
  } else {
    fuse_reply_buf(req, nullptr, 0);
  }
}

void refuse_write(fuse_req_t req) { fuse_reply_err(req, EROFS); }

// The mount is read-only, so these come only if somebody remounts it otherwise.
void refuse_writes(fuse_lowlevel_ops& ops) {
  ops.setattr = [](fuse_req_t req, fuse_ino_t, struct stat*, int, fuse_file_info*) { refuse_write(req); };
  ops.mknod = [](fuse_req_t req, fuse_ino_t, const char*, mode_t, dev_t) { refuse_write(req); };
  ops.mkdir = [](fuse_req_t req, fuse_ino_t, const char*, mode_t) { refuse_write(req); };
  ops.unlink = [](fuse_req_t req, fuse_ino_t, const char*) { refuse_write(req); };
  ops.rmdir = [](fuse_req_t req, fuse_ino_t, const char*) { refuse_write(req); };
  ops.symlink = [](fuse_req_t req, const char*, fuse_ino_t, const char*) { refuse_write(req); };
  ops.rename = [](fuse_req_t req, fuse_ino_t, const char*, fuse_ino_t, const char*, unsigned) {
    refuse_write(req);
  };
  ops.link = [](fuse_req_t req, fuse_ino_t, fuse_ino_t, const char*) { refuse_write(req); };
  ops.write = [](fuse_req_t req, fuse_ino_t, const char*, std::size_t, off_t, fuse_file_info*) {
    refuse_write(req);
  };
  ops.create = [](fuse_req_t req, fuse_ino_t, const char*, mode_t, fuse_file_info*) { refuse_write(req); };
  ops.fallocate = [](fuse_req_t req, fuse_ino_t, int, off_t, off_t, fuse_file_info*) { refuse_write(req); };
  ops.setxattr = [](fuse_req_t req, fuse_ino_t, const char*, const char*, std::size_t, int) {
    refuse_write(req);
  };
  ops.removexattr = [](fuse_req_t req, fuse_ino_t, const char*) { refuse_write(req); };
}

fuse_lowlevel_ops make_ops() {
  fuse_lowlevel_ops ops{};
  ops.init = on_init;
  ops.lookup = on_lookup;
  ops.forget = on_forget;
  ops.forget_multi = on_forget_multi;
  ops.getattr = on_getattr;
  ops.readlink = on_readlink;
  ops.open = on_open;
  ops.release = on_release;
  ops.opendir = on_opendir;
  ops.read = on_read;
  ops.readdir = on_readdir;
  ops.readdirplus = on_readdirplus;
  ops.flush = on_flush;
  ops.fsync = on_fsync;
  ops.lseek = on_lseek;
  ops.statfs = on_statfs;
  ops.getxattr = on_getxattr;
  ops.listxattr = on_listxattr;
  refuse_writes(ops);
  return ops;
}

ssize_t receive(int, void* buffer, std::size_t size, void* userdata) {
  return static_cast<FuseSession*>(userdata)->device().receive(buffer, size);
}

ssize_t send(int, iovec* parts, int count, void* userdata) {
  return static_cast<FuseSession*>(userdata)->device().send(parts, count);
}

}  // namespace

FuseSession::FuseSession(SessionOptions options, Filesystem& filesystem, FuseDevice& device)
    : options_(options), filesystem_(filesystem), device_(device) {
  char name[] = "winnow";
  char* arguments[] = {name, nullptr};
  fuse_args args = FUSE_ARGS_INIT(1, arguments);
  const fuse_lowlevel_ops ops = make_ops();
  session_ = fuse_session_new(&args, &ops, sizeof ops, this);
  fuse_opt_free_args(&args);  // libfuse may have made a copy of its own
  if (session_ == nullptr)
    throw StartupError("libfuse refuses to start a session; is libfuse3 3.14 or newer installed?");
  fuse_custom_io io{};
  io.read = receive;
  io.writev = send;
  // libfuse closes what it is given; the device's own descriptor lives longer.
  if (fuse_session_custom_io(session_, &io, dup(device.fd())) != 0) {
    fuse_session_destroy(session_);
    throw StartupError("libfuse refuses the device descriptor; is libfuse3 3.14 or newer installed?");
  }
}

FuseSession::~FuseSession() {
  wait();
  fuse_session_destroy(session_);
}

void FuseSession::process(FuseDevice::Request request) {
  fuse_buf buffer{};
  buffer.size = request.size();
  buffer.mem = request.data();
  fuse_session_process_buf(session_, &buffer);
}

void FuseSession::process_released(FuseDevice::Request request) {
  device_.take_in_hand(request);
  process(std::move(request));
  device_.let_go();
}

void FuseSession::start() {
  device_.on_released([this](FuseDevice::Request request) {
    released_.submit(WorkerPool::Urgency::kDemand, 0,
                     [this, request = std::move(request)]() mutable { process_released(std::move(request)); });
  });
  // Before any thread reads: until libfuse has seen an INIT it refuses all else.
  FuseDevice::Request init = device_.take_saved_init();
  if (!init.empty()) process(std::move(init));
  // Before any thread takes a request that would then be sent again.
  if (options_.succeeds) device_.resend();
  running_threads_ = options_.threads;
  for (unsigned i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this, i] { serve(i); });
    pthread_setname_np(threads_.back().native_handle(), "winnow-serve");
  }
}

void FuseSession::serve(unsigned number) {
  device_.enter(number);
  fuse_buf buffer{};
  while (!fuse_session_exited(session_)) {
    const int got = fuse_session_receive_buf(session_, &buffer);
    if (got == -EINTR) continue;
    if (got <= 0) break;
    fuse_session_process_buf(session_, &buffer);
    device_.let_go();
  }
  std::free(buffer.mem);
  --running_threads_;
}

void FuseSession::wait() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace winnow
