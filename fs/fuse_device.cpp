#include "fs/fuse_device.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "fs/fuse_protocol.h"
#include "fs/test_hooks.h"

namespace winnow {

namespace {

using fuse_protocol::SxTime;

constexpr std::int64_t kLongMs = 2'000;  // to serve a request, which never waits

// Of the calling thread: when it took the request that it serves, and which that is.
thread_local std::atomic<std::int64_t>* own_taken_at = nullptr;
thread_local std::uint64_t in_hand = 0;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void set_taken_at(std::int64_t when) {
  if (own_taken_at != nullptr) own_taken_at->store(when, std::memory_order_relaxed);
}

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

FuseDevice::FuseDevice(FileDescriptor fd, Filesystem& filesystem, bool use_page_cache, SurvivalMemory& memory)
    : fd_(std::move(fd)),
      filesystem_(filesystem),
      use_page_cache_(use_page_cache),
      memory_(memory),
      notes_(memory) {}

void FuseDevice::enter(unsigned thread) { own_taken_at = &taken_at_.at(thread); }

ssize_t FuseDevice::receive(void* buffer, std::size_t size) {
  while (true) {
    set_taken_at(0);
    const ssize_t got = ::read(fd_.get(), buffer, size);
    if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) return got;
    set_taken_at(now_ms());
    const auto bytes = static_cast<std::size_t>(got);
    if (!answer(buffer, bytes) && !hold_back(buffer, bytes) && !note_and_answer(buffer)) return got;
  }
}

bool FuseDevice::is_stuck() const {
  const std::int64_t long_ago = now_ms() - kLongMs;
  return std::any_of(taken_at_.begin(), taken_at_.end(),
                     [&](const auto& taken_at) { return taken_at != 0 && taken_at < long_ago; });
}

void FuseDevice::let_go() {
  if (in_hand != 0) notes_.park(std::exchange(in_hand, 0));
}

bool FuseDevice::let_go_to_wait() {
  if (own_taken_at == nullptr) return false;
  let_go();
  set_taken_at(0);
  return true;
}

bool FuseDevice::answer(const void* request, std::size_t size) {
  const auto* header = static_cast<const fuse_in_header*>(request);
  requests_.add(header->opcode);
  switch (header->opcode) {
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
      return false;   // never answered, never sent again
    case FUSE_IOCTL:  // Python's open() asks each file whether it is a terminal
      reply(header->unique, ENOTTY, nullptr, 0);
      return true;
    case FUSE_INTERRUPT:  // readers of regular files do not expect EINTR; the kernel then stops asking
      reply(header->unique, ENOSYS, nullptr, 0);
      return true;
    case FUSE_INIT:
      if (memory_.init_reply_size != 0) {
        repeat_init_reply(header->unique);
        return true;
      }
      note_init(request, size);
      return false;
    default:
      break;
  }
  if (notes_.verdict(header->unique) == RequestNotes::Verdict::kPoisoned) {
    ++memory_.poisoned_answers;
    notes_.clear(header->unique);
    reply(header->unique, EIO, nullptr, 0);
    return true;
  }
  return false;
}

bool FuseDevice::note_and_answer(const void* request) {
  const auto* header = static_cast<const fuse_in_header*>(request);
  if (header->opcode == FUSE_FORGET || header->opcode == FUSE_BATCH_FORGET) return false;
  begin(header->unique);
  if (header->opcode != fuse_protocol::kStatx) return false;
  answer_statx(request);
  return true;
}

void FuseDevice::take_in_hand(const Request& released) {
  begin(reinterpret_cast<const fuse_in_header*>(released.data())->unique);
}

void FuseDevice::begin(std::uint64_t unique) {
  in_hand = unique;
  notes_.begin(unique);
}

// Suspects are served one at a time, so that a second crash shows which of them it was.
bool FuseDevice::hold_back(const void* request, std::size_t size) {
  const auto* header = static_cast<const fuse_in_header*>(request);
  if (notes_.verdict(header->unique) != RequestNotes::Verdict::kSuspect) return false;
  const std::lock_guard lock(suspects_mutex_);
  if (active_ == 0) {
    active_ = header->unique;
    active_since_ms_ = now_ms();
    return false;
  }
  const auto* bytes = static_cast<const std::byte*>(request);
  held_.emplace_back(bytes, bytes + size);
  return true;
}

void FuseDevice::finished(std::uint64_t unique) {
  if (unique == 0) return;
  if (in_hand == unique) in_hand = 0;
  notes_.end(unique);
  notes_.clear(unique);
  if (unique == active_) pass_turn(unique);
}

void FuseDevice::pass_turn(std::uint64_t from) {
  Request next;
  {
    const std::lock_guard lock(suspects_mutex_);
    if (active_ != from) return;
    active_ = 0;
    if (held_.empty()) return;
    next = std::move(held_.front());
    held_.pop_front();
    active_ = reinterpret_cast<const fuse_in_header*>(next.data())->unique;
    active_since_ms_ = now_ms();
  }
  process_released_(std::move(next));
}

void FuseDevice::pass_long_turn() {
  const std::uint64_t active = active_;
  if (active != 0 && now_ms() - active_since_ms_ > kLongMs) pass_turn(active);
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
  const bool extended = size >= sizeof *header + sizeof *init && (init->flags & FUSE_INIT_EXT) != 0;
  offered_flags2_ = extended ? init->flags2 : 0;
  init_unique_ = header->unique;
  if (replaying_ || size > sizeof memory_.init) return;
  std::memcpy(memory_.init, request, size);
  memory_.can_resend =
      (offered_flags2_ & fuse_protocol::kHasResend2) != 0 && test_hook("WINNOW_TEST_NO_RESEND") == nullptr;
  memory_.init_size = static_cast<std::uint32_t>(size);
}

// The worker before us was killed around its reply: here it is (again).
void FuseDevice::repeat_init_reply(std::uint64_t unique) {
  std::byte copy[sizeof memory_.init_reply];
  const std::uint32_t size = memory_.init_reply_size;
  std::memcpy(copy, memory_.init_reply, size);
  reinterpret_cast<fuse_out_header*>(copy)->unique = unique;
  (void)!write(fd_.get(), copy, size);
}

// Before it is sent: whoever is killed in between leaves it to the next.
void FuseDevice::save_init_reply(const iovec* parts, int count) {
  std::size_t size = 0;
  for (int i = 0; i < count; ++i) {
    if (size + parts[i].iov_len > sizeof memory_.init_reply) return;
    std::memcpy(memory_.init_reply + size, parts[i].iov_base, parts[i].iov_len);
    size += parts[i].iov_len;
  }
  memory_.init_reply_size = static_cast<std::uint32_t>(size);
}

FuseDevice::Request FuseDevice::take_saved_init() {
  if (memory_.init_size == 0) return {};
  const auto* saved = reinterpret_cast<const std::byte*>(memory_.init);
  Request request(saved, saved + memory_.init_size);
  replaying_ = true;
  note_init(request.data(), request.size());
  return request;
}

bool FuseDevice::resend() {
  fuse_out_header header{};
  header.len = sizeof header;
  header.error = fuse_protocol::kNotifyResend;
  return write(fd_.get(), &header, sizeof header) == sizeof header;
}

ssize_t FuseDevice::send(iovec* parts, int count) {
  const auto* header = static_cast<const fuse_out_header*>(parts[0].iov_base);
  const bool answers_init = header->unique != 0 && header->unique == init_unique_;
  if (answers_init && count > 1 && header->error == 0) {
    add_init_flags(parts[1]);
    if (memory_.init_reply_size == 0) save_init_reply(parts, count);
  }
  if (answers_init) init_unique_ = 0;
  // If the kernel never had an answer, it asks again.
  if (answers_init && replaying_.exchange(false)) return header->len;
  const std::uint64_t unique = header->unique;
  const ssize_t written = writev(fd_.get(), parts, count);
  finished(unique);
  return written;
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
}

void FuseDevice::reply(std::uint64_t unique, int error, const void* body, std::size_t size) {
  fuse_out_header header{};
  header.len = static_cast<std::uint32_t>(sizeof header + size);
  header.error = -error;
  header.unique = unique;
  const iovec parts[] = {{&header, sizeof header}, {const_cast<void*>(body), size}};
  (void)!writev(fd_.get(), parts, size > 0 ? 2 : 1);  // ENOENT: the kernel gave up on the request
  finished(unique);
}

}  // namespace winnow
