#include "fs/fuse_device.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "fs/fuse_protocol.h"

namespace winnow {

namespace {

using fuse_protocol::SxTime;

SxTime sx_time(const Timestamp& at) { return {at.seconds, at.nanoseconds, 0}; }

fuse_protocol::StatxOut statx_out(const Attributes& attributes) {
  const FileStat& from = attributes.stat;
  fuse_protocol::StatxOut out{};
  out.attr_valid = attributes.generated ? 0 : static_cast<std::uint64_t>(kForeverSeconds);
  fuse_protocol::Statx& to = out.stat;
  to.mask = STATX_BASIC_STATS | (from.birth == Timestamp{} ? 0 : STATX_BTIME);
  to.blksize = kBlockBytes;
  to.nlink = from.links;
  to.uid = from.uid;
  to.gid = from.gid;
  to.mode = static_cast<std::uint16_t>(from.mode);
  to.ino = shown_inode(attributes.id);
  to.size = from.version.size;
  to.blocks = (from.version.size + 511) / 512;
  to.atime = to.mtime = sx_time(from.version.mtime);
  to.ctime = sx_time(from.version.ctime);
  to.btime = sx_time(from.birth);
  return out;
}

}  // namespace

FuseDevice::FuseDevice(FileDescriptor fd, Filesystem& filesystem, bool use_page_cache)
    : fd_(std::move(fd)), filesystem_(filesystem), use_page_cache_(use_page_cache) {}

ssize_t FuseDevice::receive(void* buffer, std::size_t size) {
  while (true) {
    const ssize_t got = ::read(fd_.get(), buffer, size);
    if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) return got;
    if (!answer(buffer, static_cast<std::size_t>(got))) return got;
  }
}

bool FuseDevice::answer(const void* request, std::size_t size) {
  const auto* header = static_cast<const fuse_in_header*>(request);
  requests_.add(header->opcode);
  switch (header->opcode) {
    case FUSE_IOCTL:  // Python's open() asks each file whether it is a terminal
      reply(header->unique, ENOTTY, nullptr, 0);
      return true;
    case FUSE_INTERRUPT:  // readers of regular files do not expect EINTR; the kernel then stops asking
      reply(header->unique, ENOSYS, nullptr, 0);
      return true;
    case fuse_protocol::kStatx:
      answer_statx(request);
      return true;
    case FUSE_INIT:
      note_init(request, size);
      return false;
    default:
      return false;
  }
}

void FuseDevice::answer_statx(const void* request) {
  const auto* header = static_cast<const fuse_in_header*>(request);
  const auto attributes = filesystem_.attributes(NodeId{header->nodeid});
  if (!attributes) return reply(header->unique, attributes.error().value(), nullptr, 0);
  const auto out = statx_out(attributes.value());
  reply(header->unique, 0, &out, sizeof out);
}

void FuseDevice::note_init(const void* request, std::size_t size) {
  const auto* header = static_cast<const fuse_in_header*>(request);
  const auto* init = reinterpret_cast<const fuse_init_in*>(header + 1);
  kernel_minor_ = init->minor;
  const bool extended = size >= sizeof *header + sizeof *init && (init->flags & FUSE_INIT_EXT) != 0;
  offered_flags2_ = extended ? init->flags2 : 0;
  init_unique_ = header->unique;
}

ssize_t FuseDevice::send(iovec* parts, int count) {
  const auto* header = static_cast<const fuse_out_header*>(parts[0].iov_base);
  if (count > 1 && header->error == 0 && header->unique != 0 && header->unique == init_unique_) {
    add_init_flags(parts[1]);
  }
  return writev(fd_.get(), parts, count);
}

void FuseDevice::add_init_flags(const iovec& reply) {
  if (reply.iov_len < sizeof(fuse_init_out)) return;
  auto* init = static_cast<fuse_init_out*>(reply.iov_base);
  std::uint32_t wanted = fuse_protocol::kAllowIdmap2;
  if (!use_page_cache_) wanted |= fuse_protocol::kDirectIoAllowMmap2;
  const std::uint32_t granted = wanted & offered_flags2_;
  if (granted == 0) return;
  init->flags |= FUSE_INIT_EXT;
  init->flags2 |= granted;
  allows_idmap_ = (granted & fuse_protocol::kAllowIdmap2) != 0;
}

void FuseDevice::reply(std::uint64_t unique, int error, const void* body, std::size_t size) const {
  fuse_out_header header{};
  header.len = static_cast<std::uint32_t>(sizeof header + size);
  header.error = -error;
  header.unique = unique;
  const iovec parts[] = {{&header, sizeof header}, {const_cast<void*>(body), size}};
  (void)!writev(fd_.get(), parts, size > 0 ? 2 : 1);  // ENOENT: the kernel gave up on the request
}

}  // namespace winnow
