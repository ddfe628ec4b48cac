// Where a prefetch puts what it brings, and whom it tells what of it will be read. Thread-safe; no call waits.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cache/fetcher.h"
#include "cache/file_ref.h"
#include "fs/node_id.h"

namespace winnow {

class AheadStore {
 public:
  virtual ~AheadStore() = default;
  virtual bool holds(SampleId id, std::uint64_t size) const = 0;  // all of it
  virtual bool has_taken(const FileRef& file) const = 0;  // of what fetch() brought: it is held, or about to be
  virtual std::uint64_t room_for(std::uint64_t file_bytes) const = 0;  // what a file takes here; no lock is needed
  virtual bool has_room_ahead(std::uint64_t bytes) const = 0;  // for unread bytes, without driving out others
  // The same where the order of reads is known, and `ahead` bytes wait already.
  virtual bool has_room_in_order(std::uint64_t ahead, std::uint64_t bytes) const = 0;
  virtual bool can_take(NodeId id) const = 0;  // it could keep this one
  virtual double importance(SampleId id) const = 0;
  virtual void begin_epoch() = 0;  // nothing is read yet; foresee() then tells what was, after all

  enum class Prospect { kWillBeRead, kWasRead, kNobodys };  // by a job's epoch: later, already, not at all
  virtual void foresee(SampleId id, Prospect prospect) = 0;

  // Brings a file; `done` is called once, from any thread, unless this gives false: it is being fetched already.
  virtual bool fetch(const FileRef& file, bool near, Fetcher::Prefetched done) = 0;

  // Where there is a disk and the order of reads is known, what will be read soon is brought near, into memory. While an
  // order is followed, nothing else comes there ahead of its reader.
  virtual void follow_order(bool is_followed) = 0;
  virtual bool can_come_near(NodeId id) const = 0;                  // the kernel knows it
  virtual bool is_near(SampleId id, std::uint64_t size) const = 0;  // all of it
  virtual bool has_room_near(std::uint64_t bytes) const = 0;        // never, if there is no disk
  virtual void bring_near(std::vector<FileRef> held, std::function<void()> done) = 0;  // `done`: once, from any thread
};

}  // namespace winnow
