#include "cache/page_counts.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace winnow {

PageCounts::PageCounts(int fd, std::uint64_t offset) {
  const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* mapped =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "no memory for the page ledger");
  madvise(mapped, kBytes, MADV_DONTDUMP);  // of 4 GiB, a core dump would read every page
  counts_ = static_cast<std::uint32_t*>(mapped);
}

PageCounts::~PageCounts() { munmap(counts_, kBytes); }

std::uint32_t PageCounts::get(SampleId id) const {
  return value(id) == 0 || value(id) > counts_[0] ? 0 : counts_[value(id)];
}

void PageCounts::set(SampleId id, std::uint32_t pages) {
  if (value(id) == 0 || value(id) >= kMaxIds || (pages == 0 && value(id) > counts_[0])) return;
  counts_[value(id)] = pages;
  counts_[0] = std::max(counts_[0], static_cast<std::uint32_t>(value(id)));
}

std::optional<SampleId> PageCounts::next_set(SampleId from) const {
  for (std::uint64_t id = std::max<std::uint64_t>(value(from), 1); id <= counts_[0]; ++id) {
    if (counts_[id] > 0) return SampleId{id};
  }
  return std::nullopt;
}

}  // namespace winnow
