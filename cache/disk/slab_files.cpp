#include "cache/disk/slab_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace winnow {

DirectIo probe_direct_io(const std::string& folder) {
  const std::string path = folder + "/probe";
  const FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_DIRECT, 0600));
  const int error = errno;
  struct statx facts {};
  const bool told = fd && statx(fd.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) == 0 &&
                    (facts.stx_mask & STATX_DIOALIGN) != 0;
  unlink(path.c_str());
  if (!fd && error != EINVAL) {
    throw StartupError("disk tier " + folder + " cannot be written: " + errno_text(error) +
                       "; mend that or give another --disk-dir");
  }
  if (!fd || (told && facts.stx_dio_offset_align == 0)) return {512, "this filesystem has no O_DIRECT"};
  if (told && (facts.stx_dio_offset_align > 4096 || facts.stx_dio_mem_align > 4096)) {
    return {4096, "O_DIRECT needs " + std::to_string(facts.stx_dio_offset_align) + " bytes at a time here"};
  }
  return {told && facts.stx_dio_offset_align <= 512 ? 512u : 4096u, ""};
}

SlabFiles::SlabFiles(BlockIo& io, std::string folder, IndexFile::Geometry geometry, std::uint64_t max_bytes,
                     bool direct)
    : io_(io),
      folder_(std::move(folder)),
      unit_bytes_(geometry.unit_bytes),
      slab_units_(static_cast<std::uint32_t>(geometry.slab_bytes / geometry.unit_bytes)),
      direct_(direct) {
  std::size_t there = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    unsigned number = 0;
    int length = 0;
    const std::string name = entry.path().filename().string();
    if (sscanf(name.c_str(), "slab-%6u%n", &number, &length) != 1 || name.size() != 11 || length != 11)
      continue;
    there = std::max<std::size_t>(there, number + 1);
  }
  const std::uint64_t wanted = (max_bytes + geometry.slab_bytes - 1) / geometry.slab_bytes;
  slabs_.reserve(std::max<std::uint64_t>(there, wanted));
  for (std::size_t number = 0; number < there; ++number) {
    open_slab(number);
    struct stat facts {};
    if (fstat(slabs_[number].fd.get(), &facts) != 0) continue;
    slabs_[number].units = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(static_cast<std::uint64_t>(facts.st_size) / unit_bytes_, slab_units_));
  }
}

std::string SlabFiles::path(std::size_t number) const {
  char name[16];
  snprintf(name, sizeof name, "slab-%06zu", number % 1'000'000);
  return folder_ + "/" + name;
}

void SlabFiles::open_slab(std::size_t number) {
  FileDescriptor fd(
      open(path(number).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (direct_ ? O_DIRECT : 0), 0600));
  if (!fd) {
    throw StartupError(path(number) + " cannot be opened: " + errno_text(errno) +
                       "; mend that or give another --disk-dir");
  }
  slabs_.push_back({std::move(fd), 0});
}

Result<Region> SlabFiles::grow(std::uint64_t max_bytes) {
  auto wanted = static_cast<std::uint32_t>(std::min<std::uint64_t>(max_bytes / unit_bytes_, slab_units_));
  std::size_t number = 0;
  while (number < slabs_.size() && slabs_[number].units == slab_units_) ++number;
  if (wanted == 0 || number == slabs_.capacity()) return Region{};
  if (number == slabs_.size()) {
    try {
      open_slab(number);
    } catch (const StartupError&) {
      return last_error();
    }
  }
  Slab& slab = slabs_[number];
  wanted = std::min(wanted, slab_units_ - slab.units);
  const std::uint64_t from = std::uint64_t{slab.units} * unit_bytes_;
  if (auto grown = io_.allocate(slab.fd.get(), from, std::uint64_t{wanted} * unit_bytes_); !grown) {
    (void)!ftruncate(slab.fd.get(),
                     static_cast<off_t>(from));  // what was had of it counts against the budget
    return grown.error();
  }
  const Region region{static_cast<std::uint32_t>(number * slab_units_ + slab.units), wanted};
  slab.units += wanted;
  return region;
}

void SlabFiles::cut(std::size_t number, std::uint32_t units) {
  Slab& slab = slabs_[number];
  slab.units = units;
  (void)!ftruncate(slab.fd.get(), static_cast<off_t>(std::uint64_t{units} * unit_bytes_));
  if (units == 0) unlink(path(number).c_str());
}

void SlabFiles::shrink(std::uint64_t max_bytes) {
  while (!slabs_.empty() && bytes() > max_bytes) {
    const std::size_t last = slabs_.size() - 1;
    const std::uint64_t excess = (bytes() - max_bytes + unit_bytes_ - 1) / unit_bytes_;
    cut(last,
        slabs_[last].units - static_cast<std::uint32_t>(std::min<std::uint64_t>(excess, slabs_[last].units)));
    if (slabs_[last].units == 0) slabs_.pop_back();
  }
}

std::vector<Region> SlabFiles::regions() const {
  std::vector<Region> all;
  for (std::size_t number = 0; number < slabs_.size(); ++number) {
    all.push_back({static_cast<std::uint32_t>(number * slab_units_), slabs_[number].units});
  }
  return all;
}

bool SlabFiles::holds(const Extent& extent) const {
  const std::size_t number = extent.first / slab_units_;
  return number < slabs_.size() &&
         std::uint64_t{extent.first % slab_units_} + extent.units <= slabs_[number].units;
}

std::uint64_t SlabFiles::bytes() const {
  std::uint64_t units = 0;
  for (const Slab& slab : slabs_) units += slab.units;
  return units * unit_bytes_;
}

void SlabFiles::place(const Extents& extents, std::byte* memory, std::vector<IoPiece>& pieces) const {
  for (const Extent& extent : extents) {
    if (extent.units == 0) continue;
    const std::size_t size = std::size_t{extent.units} * unit_bytes_;
    const Slab& slab = slabs_[extent.first / slab_units_];
    pieces.push_back(
        {slab.fd.get(), std::uint64_t{extent.first % slab_units_} * unit_bytes_, {memory, size}});
    memory += size;
  }
}

}  // namespace winnow
