// Which Winnow mounts this mount namespace has, from /proc/self/mountinfo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace winnow {

struct MountEntry {
  std::string mountpoint;
  std::string source;
  std::string type;
  std::string device;  // "major:minor"
};

std::vector<MountEntry> all_mounts();
std::vector<MountEntry> winnow_mounts();
// The uppermost mount at exactly this (absolute, resolved) path.
std::optional<MountEntry> mount_at(const std::string& mountpoint);

// Whether somebody serves the FUSE mount there. A mute one waits for somebody: a daemon that is busy, is being replaced
// or could not finish dying.
enum class Pulse { kAnswers, kDead, kMute };
Pulse feel_pulse(const std::string& mountpoint);
inline bool is_dead_mount(const std::string& mountpoint) { return feel_pulse(mountpoint) == Pulse::kDead; }

}  // namespace winnow
