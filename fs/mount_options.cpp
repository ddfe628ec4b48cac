#include "fs/mount_options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>

#include "cache/result.h"
#include "fs/mounting.h"
#include "fs/state_dir.h"
#include "fs/units.h"

namespace winnow {

const char* to_string(TrackMode mode) {
  switch (mode) {
    case TrackMode::kAuto:
      return "auto";
    case TrackMode::kFanotify:
      return "fanotify";
    case TrackMode::kOpen:
      return "open";
    case TrackMode::kOff:
      return "off";
  }
  return "";
}

TrackMode parse_track_mode(std::string_view text) {
  for (const TrackMode mode : {TrackMode::kAuto, TrackMode::kFanotify, TrackMode::kOpen, TrackMode::kOff}) {
    if (text == to_string(mode)) return mode;
  }
  throw std::invalid_argument("'" + std::string(text) +
                              "' is not a way to track; write auto, fanotify, open or off");
}

namespace {

void check_memory(std::uint64_t bytes) {
  if (bytes > machine_memory()) {
    throw StartupError("--memory " + format_size(bytes) + " is more than this machine's " +
                       format_size(machine_memory()) + "; give less, or a percentage");
  }
  constexpr std::uint64_t kLeast = 1 << 20;
  if (bytes < kLeast)
    throw StartupError("--memory must be at least 1M; to keep no pages, use --page-cache off");
}

std::string resolve_source(const std::string& source) {
  char resolved[PATH_MAX];
  if (realpath(source.c_str(), resolved) != nullptr) return resolved;
  throw StartupError("source " + source + ": " + errno_text(errno) + "; name a folder that exists");
}

}  // namespace

void validate(MountOptions& options) {
  check_memory(options.memory_bytes);
  if (!options.page_cache && options.track != TrackMode::kOpen) {
    throw StartupError(
        "--page-cache off needs --track open, since only an answered OPEN can keep a file out of the cache");
  }
  options.source = resolve_source(options.source);
  options.mountpoint = resolve_mountpoint(options.mountpoint);
  check_mountpoint(options.mountpoint, options.source);
  if (options.state_dir.empty())
    options.state_dir = StateDir::default_path(options.source, options.mountpoint);
  options.state_dir = std::filesystem::absolute(options.state_dir).lexically_normal().string();
  while (options.state_dir.size() > 1 && options.state_dir.back() == '/') options.state_dir.pop_back();
  const auto refuse_inside = [&](const std::string& folder, const char* what) {
    if (options.state_dir == folder || options.state_dir.starts_with(folder == "/" ? folder : folder + "/")) {
      throw StartupError("--state-dir " + options.state_dir + " lies inside the " + what +
                         "; choose another");
    }
  };
  refuse_inside(options.mountpoint, "mountpoint");
  refuse_inside(options.source, "source");
}

}  // namespace winnow
