#include "fs/mount_options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "cache/result.h"
#include "fs/checked_file.h"
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

// Its file system, also while the folder itself is not there yet.
void check_disk(const MountOptions& options) {
  std::filesystem::path at = options.disk_dir;
  std::error_code ignored;
  while (!std::filesystem::exists(at, ignored) && at.has_relative_path()) at = at.parent_path();
  const std::uint64_t whole = std::filesystem::space(at, ignored).capacity;
  if (ignored || whole == 0 || options.disk_bytes <= whole) return;
  throw StartupError("--disk " + format_size(options.disk_bytes) + " is more than the " + format_size(whole) +
                     " of the file system of " + options.disk_dir + "; give less, or another --disk-dir");
}

void refuse_inside(const std::string& option, const std::string& path, const std::string& folder, const char* what) {
  if (path == folder || path.starts_with(folder == "/" ? folder : folder + "/"))
    throw StartupError(option + " " + path + " lies inside the " + what + "; choose another");
}

std::string resolve_source(const std::string& source) {
  char resolved[PATH_MAX];
  if (realpath(source.c_str(), resolved) != nullptr) return resolved;
  if (source.find("://") != std::string::npos)
    throw StartupError("source " + source + " is of no known kind; name a folder, or s3://BUCKET/PREFIX in small letters");
  throw StartupError("source " + source + ": " + errno_text(errno) + "; name a folder that exists");
}

// Paths may hold any bytes, and must come back as they were: as numbers, since JSON holds only UTF-8.
std::vector<unsigned char> as_numbers(const std::string& path) { return {path.begin(), path.end()}; }

std::string from_numbers(const nlohmann::json& json, const char* key) {
  const auto found = json.value(key, std::vector<unsigned char>());
  return {found.begin(), found.end()};
}

}  // namespace

void save(const MountOptions& options, const std::string& path) {
  nlohmann::json json = {{"source", as_numbers(options.source)},
                         {"mountpoint", as_numbers(options.mountpoint)},
                         {"state_dir", as_numbers(options.state_dir)},
                         {"memory_bytes", options.memory_bytes},
                         {"disk_bytes", options.disk_bytes},
                         {"disk_dir", as_numbers(options.disk_dir)},
                         {"policy", options.policy},
                         {"prefetch", options.prefetch},
                         {"track", to_string(options.track)},
                         {"refresh_ms", options.refresh.count()},
                         {"source_timeout_ms", options.source_timeout.count()},
                         {"follow_symlinks", options.follow_symlinks},
                         {"allow_other", options.allow_other},
                         {"page_cache", options.page_cache},
                         {"foreground", options.foreground},
                         {"log_level", options.log_level},
                         {"watchdog_ms", options.watchdog.count()},
                         {"max_restarts", options.max_restarts},
                         {"used_saved_snapshot", options.used_saved_snapshot},
                         {"umask", options.ownership.umask},
                         {"s3",
                          {{"endpoint", options.s3.endpoint},
                           {"region", options.s3.region},
                           {"addressing", options.s3.addressing},
                           {"profile", options.s3.profile},
                           {"ca_file", as_numbers(options.s3.ca_file)},
                           {"anonymous", options.s3.anonymous}}}};
  if (options.ownership.uid) json["uid"] = *options.ownership.uid;
  if (options.ownership.gid) json["gid"] = *options.ownership.gid;
  CheckedFile file(path);
  const std::string text = json.dump();
  file.write(text.data(), text.size());
  file.commit();
}

MountOptions load_mount_options(const std::string& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object())
    throw StartupError("state file " + path + " is missing or damaged; unmount and mount again");
  MountOptions options;
  options.source = from_numbers(json, "source");
  options.mountpoint = from_numbers(json, "mountpoint");
  options.state_dir = from_numbers(json, "state_dir");
  options.memory_bytes = json.value("memory_bytes", machine_memory() / 4);
  options.disk_bytes = json.value("disk_bytes", std::uint64_t{0});
  options.disk_dir = from_numbers(json, "disk_dir");
  options.policy = json.value("policy", "importance");
  options.prefetch = json.value("prefetch", 32u);
  options.track = parse_track_mode(json.value("track", "auto"));
  options.refresh = std::chrono::milliseconds(json.value("refresh_ms", 0L));
  options.source_timeout = std::chrono::milliseconds(json.value("source_timeout_ms", 60'000L));
  options.follow_symlinks = json.value("follow_symlinks", false);
  options.allow_other = json.value("allow_other", false);
  options.page_cache = json.value("page_cache", true);
  options.foreground = json.value("foreground", false);
  options.log_level = json.value("log_level", "info");
  options.watchdog = std::chrono::milliseconds(json.value("watchdog_ms", 30'000L));
  options.max_restarts = json.value("max_restarts", 50);
  options.used_saved_snapshot = json.value("used_saved_snapshot", false);
  options.ownership.umask = json.value("umask", 0u);
  const auto s3 = json.value("s3", nlohmann::json::object());
  options.s3.endpoint = s3.value("endpoint", "");
  options.s3.region = s3.value("region", "");
  options.s3.addressing = s3.value("addressing", "auto");
  options.s3.profile = s3.value("profile", "");
  options.s3.ca_file = from_numbers(s3, "ca_file");
  options.s3.anonymous = s3.value("anonymous", false);
  if (json.contains("uid")) options.ownership.uid = json.value("uid", 0u);
  if (json.contains("gid")) options.ownership.gid = json.value("gid", 0u);
  return options;
}

void validate(MountOptions& options) {
  check_memory(options.memory_bytes);
  if (!options.page_cache && options.track != TrackMode::kOpen) {
    throw StartupError(
        "--page-cache off needs --track open, since only an answered OPEN can keep a file out of the cache");
  }
  const bool in_s3 = s3::is_s3_url(options.source);
  if (in_s3) {
    s3::parse_s3_url(options.source);
    s3::resolve(options.s3);
    if (!options.s3.ca_file.empty()) options.s3.ca_file = resolve_source(options.s3.ca_file);
  } else {
    options.source = resolve_source(options.source);
  }
  options.mountpoint = resolve_mountpoint(options.mountpoint);
  check_mountpoint(options.mountpoint, in_s3 ? "" : options.source);
  if (options.state_dir.empty())
    options.state_dir = StateDir::default_path(options.source, options.mountpoint);
  options.state_dir = std::filesystem::absolute(options.state_dir).lexically_normal().string();
  while (options.state_dir.size() > 1 && options.state_dir.back() == '/') options.state_dir.pop_back();
  if (options.disk_bytes > 0 && options.disk_dir.empty()) options.disk_dir = options.state_dir + "/disk";
  if (!options.disk_dir.empty()) {
    if (options.disk_bytes == 0) throw StartupError("--disk-dir needs --disk SIZE; say how much it may hold");
    options.disk_dir = std::filesystem::absolute(options.disk_dir).lexically_normal().string();
    check_disk(options);
  }
  for (const auto& [option, path] : {std::pair("--state-dir", options.state_dir), {"--disk-dir", options.disk_dir}}) {
    refuse_inside(option, path, options.mountpoint, "mountpoint");
    if (!in_s3) refuse_inside(option, path, options.source, "source");
  }
}

}  // namespace winnow
