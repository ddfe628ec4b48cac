// Whether what the tiers hold is what the source has.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "cache/file_descriptor.h"
#include "cache/patient_read.h"
#include "fs/warm.h"

namespace winnow {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFromSource = 8 << 20;    // at once: what comes whole is checked by the source, too
constexpr std::uint64_t kCompared = 1 << 20;      // at once, of what is held: a slot
constexpr std::uint64_t kMostInMemory = 48 << 20;
constexpr unsigned kMostThreads = 16;
constexpr auto kSampleEvery = 50ms;

}  // namespace

void Warm::check(const std::vector<FileRef>& files, const WarmOptions& options) {
  const unsigned at_once = std::clamp(options.at_once, 1u, kMostThreads);
  Flying flying(at_once, kMostInMemory);
  WorkerPool checkers({.name = "winnow-check", .max_threads = at_once});
  for (const FileRef& file : files) {
    source_fails_ = source_fails(options.source_timeout);
    if (cancelled_ || source_fails_) break;
    const std::uint64_t bytes = std::min(file.version.size, kFromSource) + 2 * kCompared;
    flying.begin(bytes);
    checkers.submit(WorkerPool::Urgency::kDemand, 0, [this, &file, &flying, &options, bytes] {
      act_on(compare(file, options.source_timeout), file);
      flying.end(bytes, Brought::kFromTier, {});
    });
  }
  flying.wait_for_all();
}

void Warm::act_on(const Comparison& found, const FileRef& file) {
  if (cancelled_) return;
  if (found.finding == Finding::kDiffers || found.finding == Finding::kChanged) {
    if (parts_.tiers.disk() != nullptr) parts_.tiers.disk()->remove(file);
    if (parts_.tiers.pages() != nullptr) parts_.tiers.pages()->discard(file.id);
  }
  if (found.finding == Finding::kChanged) parts_.reads.note_changed(file);
  if (found.finding != Finding::kNotHeld && found.finding != Finding::kTorn)
    note_source(file, found.finding != Finding::kFailed);
  count(found);
  done(file);
}

void Warm::count(const Comparison& found) {
  const auto is = [&](Finding finding) { return found.finding == finding ? 1 : 0; };
  not_held_files_ += is(Finding::kNotHeld);
  compared_files_ += is(Finding::kAgrees) + is(Finding::kDiffers);
  unreadable_files_ += is(Finding::kTorn);
  changed_files_ += is(Finding::kChanged);
  wrong_files_ += is(Finding::kDiffers);
  failed_files_ += is(Finding::kFailed);
  unreadable_slots_ += found.unreadable_slots;
  if (found.finding == Finding::kNotHeld) return;
  ++held_files_;
  held_bytes_ += found.held_bytes;
}

Warm::Comparison Warm::compare(const FileRef& file, std::chrono::milliseconds timeout) const {
  const std::uint64_t size = file.version.size;
  const bool in_memory = parts_.tiers.in_memory(file.id, size);
  Comparison found;
  found.held_bytes = in_memory ? size : held_of(file, {0, size});
  if (size == 0) {
    found.finding = Finding::kAgrees;  // as when filling: there is nothing to hold
  } else if (found.held_bytes > 0) {
    found.finding = compare_held(file, in_memory, timeout, found);
  }
  return found;
}

Warm::Finding Warm::compare_held(const FileRef& file, bool in_memory, std::chrono::milliseconds timeout,
                                 Comparison& found) const {
  const std::uint64_t size = file.version.size;
  const FileDescriptor pages(
      in_memory ? open((parts_.mountpoint + "/" + file.path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1);
  found.all_read = !in_memory || pages;
  for (std::uint64_t at = 0; at < size; at += kFromSource) {
    const Range range{at, std::min(kFromSource, size - at)};
    if (!pages && held_of(file, range) == 0) continue;
    const auto began = Clock::now();
    const auto truth = read_patiently(parts_.source, file, range, [&](std::chrono::milliseconds length) {
      const bool too_late = timeout.count() > 0 && Clock::now() - began + length >= timeout;
      return !too_late && pause(length);
    });
    if (!truth) return means_changed(truth.error()) ? Finding::kChanged : Finding::kFailed;
    if (!agrees(file, range, truth.value(), pages.get(), found)) return Finding::kDiffers;
  }
  if (!found.all_read) return Finding::kTorn;
  return found.compared_bytes > 0 ? Finding::kAgrees : Finding::kNotHeld;  // it left meanwhile
}

std::uint64_t Warm::held_of(const FileRef& file, Range range) const {
  const DiskTier* disk = parts_.tiers.disk();
  std::uint64_t held = 0;
  for (std::uint64_t at = range.offset; disk != nullptr && at < range.end(); at += disk->piece_bytes())
    held += disk->held_from(file, at, std::min(disk->piece_bytes(), range.end() - at));
  return held;
}

bool Warm::agrees(const FileRef& file, Range range, const Bytes& truth, int pages, Comparison& found) const {
  DiskTier* disk = parts_.tiers.disk();
  std::string held;
  for (std::uint64_t at = range.offset; at < range.end(); at += kCompared) {
    const Bytes part = truth.part(at - range.offset, kCompared);
    const auto same = [&](std::span<const std::byte> other) {
      found.compared_bytes += other.size();
      return other.size() == part.size() && std::memcmp(other.data(), part.span().data(), part.size()) == 0;
    };
    const bool on_disk = disk != nullptr && disk->held_from(file, at, 1) > 0;
    const auto kept = on_disk ? disk->read(file, at, part.size()) : std::nullopt;
    found.unreadable_slots += on_disk && !kept ? 1 : 0;
    if (on_disk && !kept) found.all_read = false;
    if (kept && !same(kept->span())) return false;
    if (pages < 0) continue;
    held.resize(part.size());
    const ssize_t got = pread(pages, held.data(), held.size(), static_cast<off_t>(at));
    if (got < 0) found.all_read = false;
    if (got >= 0 && !same(std::as_bytes(std::span(held.data(), static_cast<std::size_t>(got))))) return false;
  }
  return true;
}

bool Warm::pause(std::chrono::milliseconds length) const {
  const auto until = Clock::now() + length;
  while (!cancelled_ && Clock::now() < until)
    std::this_thread::sleep_for(std::min<Clock::duration>(kSampleEvery, length));
  return !cancelled_;
}

}  // namespace winnow
