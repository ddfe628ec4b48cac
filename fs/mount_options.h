// What `winnow mount` can be told. validate() checks all of it in one place, before anything is touched.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cache/s3/s3_options.h"
#include "fs/filesystem.h"

namespace winnow {

enum class TrackMode { kAuto, kFanotify, kOpen, kOff };
const char* to_string(TrackMode mode);
TrackMode parse_track_mode(std::string_view text);  // throws std::invalid_argument

struct MountOptions {
  std::string source;
  std::string mountpoint;
  std::string state_dir;  // empty: the default place
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;  // 0: no disk tier
  std::string disk_dir;          // empty: in the state directory
  std::string policy = "importance";
  unsigned prefetch = 32;  // fetches ahead of their readers at a time; 0: none
  TrackMode track = TrackMode::kAuto;
  std::chrono::milliseconds refresh{0};  // zero: only when asked
  std::chrono::milliseconds source_timeout{60'000};
  bool follow_symlinks = false;
  bool allow_other = false;
  bool page_cache = true;
  bool foreground = false;
  std::string log_level = "info";
  std::chrono::milliseconds watchdog{30'000};  // zero: never
  int max_restarts = 50;
  bool used_saved_snapshot = false;  // found out while mounting
  OwnershipOptions ownership;
  s3::S3Options s3;  // for sources s3://; its source_timeout is the one above
};

// As they are handed to a worker and its successors, also of later versions: unknown keys are ignored,
// missing ones have their defaults. Throws StartupError.
void save(const MountOptions& options, const std::string& path);
MountOptions load_mount_options(const std::string& path);

// Resolves the paths and fills the defaults. Throws StartupError.
void validate(MountOptions& options);

}  // namespace winnow
