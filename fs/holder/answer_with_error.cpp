#include <cerrno>
#include <linux/fuse.h>
#include <unistd.h>

#include "fs/holder/holder.h"

namespace winnow::holder {

namespace {

constexpr int kNotifyResend = 7;  // newer than Debian 12's headers

// The kernel refuses smaller reads than its longest request. Pages that are never written are never resident.
alignas(8) char request[(1 << 20) + 65536];

bool wants_no_answer(const fuse_in_header& header) {
  return header.opcode == FUSE_FORGET || header.opcode == FUSE_BATCH_FORGET ||
         header.opcode == FUSE_INTERRUPT;
}

}  // namespace

void resend(int device) {
  fuse_out_header header{};
  header.len = sizeof header;
  header.error = kNotifyResend;
  (void)!write(device, &header, sizeof header);
}

bool answer_with_error(int device, SurvivalMemory& memory) {
  const ssize_t got = read(device, request, sizeof request);
  if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) return true;
  if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) return false;
  const auto& header = *reinterpret_cast<const fuse_in_header*>(request);
  if (wants_no_answer(header)) return true;
  if (header.opcode == FUSE_INIT) memory.remounting = 1;  // an error here is for good: only a new mount mends it
  fuse_out_header answer{};
  answer.len = sizeof answer;
  answer.error = -EIO;
  answer.unique = header.unique;
  (void)!write(device, &answer, sizeof answer);
  return true;
}

}  // namespace winnow::holder
