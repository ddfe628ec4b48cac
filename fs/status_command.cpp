#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <thread>

#include "cache/result.h"
#include "fs/commands.h"
#include "fs/control.h"
#include "fs/holder_lookup.h"
#include "fs/mount_lookup.h"
#include "fs/mounting.h"
#include "fs/skipped_names.h"
#include "fs/units.h"

namespace winnow {

namespace {

using Json = nlohmann::ordered_json;

// Paths may hold any bytes; JSON may not.
std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::uint64_t number(const Json& json, const char* group, const char* key) {
  return json.value(group, Json::object()).value(key, std::uint64_t{0});
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1)
       << (whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0) << " %";
  return text.str();
}

std::string snapshot_line(const Json& json) {
  const std::int64_t taken_at = json["snapshot"].value("taken_at", std::int64_t{0});
  const std::time_t when = taken_at;
  std::ostringstream text;
  text << number(json, "snapshot", "files") << " files, " << format_size(number(json, "snapshot", "bytes"))
       << ", taken " << std::put_time(std::localtime(&when), "%Y-%m-%d %H:%M:%S");
  if (const auto changed = number(json, "snapshot", "changed_since"); changed > 0)
    text << ", " << changed << " changed since";
  return text.str();
}

std::string left_out_line(const Json& json) {
  std::ostringstream text;
  for (const auto& [reason, count] : json["snapshot"]["left_out"].items()) {
    if (count > 0) text << (text.tellp() > 0 ? ", " : "") << count << ' ' << reason;
  }
  return text.str();
}

std::string disk_line(const Json& json) {
  if (!json.contains("disk") || !json["disk"].is_object()) return "";
  const auto used = number(json, "disk", "bytes_on_disk");
  const auto budget = number(json, "disk", "budget_bytes");
  std::string text = format_size(used) + " of " + format_size(budget) + " allowed (" + percent(used, budget) + "), " +
                     std::to_string(number(json, "disk", "files")) + " files, " +
                     std::to_string(number(json, "disk", "hits")) + " hits, " +
                     std::to_string(number(json, "disk", "torn")) + " torn";
  const std::string trouble = json["disk"].value("why_not_writing", "");
  return trouble.empty() ? text : text + "; " + trouble;
}

// How much of the data set is held where.
std::string where_line(const Json& json) {
  if (!json.contains("where")) return "";
  const auto all = number(json, "snapshot", "bytes");
  std::string text;
  for (const char* tier : {"memory", "disk", "nowhere"}) {
    const auto bytes = json["where"][tier].value("bytes", std::uint64_t{0});
    if (!text.empty()) text += ", ";
    text += std::string(tier == std::string("nowhere") ? "in neither " : tier == std::string("disk") ? "on disk " : "in memory ") +
            format_size(bytes) + " (" + percent(bytes, all) + ")";
  }
  return text;
}

std::string prefetch_line(const Json& json) {
  if (!json.contains("prefetch")) return "";
  std::string text = std::to_string(number(json, "prefetch", "fetched")) + " files fetched ahead, " +
                     format_size(number(json, "prefetch", "ahead_bytes")) + " not read yet";
  for (const auto& job : json["prefetch"]["jobs"]) {
    text += "; group " + std::to_string(job.value("process_group", 0)) + " in epoch " +
            std::to_string(job.value("epoch", 0)) + ", " + std::to_string(job.value("files_read", 0)) + " files read";
  }
  if (const auto left = number(json, "prefetch", "declared_files_left"); left > 0)
    text += "; " + std::to_string(left) + " files left of a declared order";
  return text;
}

std::string recording_line(const Json& json) {
  const Json recording = json.value("recording", Json::object());
  const std::string ended = recording.value("ended", "");
  if (!recording.value("active", false) && ended.empty()) return "";
  return (ended.empty() ? "to " : "ended: " + ended + "; ") + recording.value("file", "") + ", " +
         std::to_string(recording.value("written", std::uint64_t{0})) + " accesses written, " +
         std::to_string(recording.value("lost", std::uint64_t{0})) + " lost";
}

// The daemon writes the file, wherever this command runs.
void begin_recording(const std::string& mountpoint, const std::string& file, const std::string& limit) {
  const Json status = read_status(find_mount(mountpoint).mountpoint);
  const std::string path = std::filesystem::absolute(file).string();
  call_daemon(status.value("control_socket", ""),
              {{"command", "record"},
               {"file", std::vector<std::uint8_t>(path.begin(), path.end())},
               {"limit_bytes", parse_size(limit, 0)}});
  std::cout << "recording to " << path << "; winnow status --record-stop " << mountpoint << " ends it\n";
  if (status.value("tracking", Json::object()).value("mode", "") == "off")
    std::cout << "opens are not tracked on this mount: only reads that miss the page cache are seen\n";
}

void end_recording(const std::string& mountpoint) {
  const Json status = read_status(find_mount(mountpoint).mountpoint);
  const Json ended = call_daemon(status.value("control_socket", ""), {{"command", "record_stop"}});
  std::cout << "recorded " << ended.value("written", std::uint64_t{0}) << " accesses to "
            << ended.value("file", "") << ", " << ended.value("lost", std::uint64_t{0}) << " lost";
  if (const std::string why = ended.value("ended", ""); !why.empty()) std::cout << "; it had ended: " << why;
  std::cout << '\n';
}

std::string as_text(const Json& json) {
  std::ostringstream text;
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text << "  " << std::left << std::setw(12) << name << value << '\n';
  };
  const auto resident = number(json, "memory", "page_cache_bytes");
  const auto budget = number(json, "memory", "budget_bytes");
  const auto opens = number(json, "reads", "opens");
  text << json.value("mountpoint", "") << '\n';
  line("source", json.value("source", ""));
  line("snapshot", snapshot_line(json));
  line("left out", left_out_line(json));
  line("page cache", format_size(resident) + " in " +
                         std::to_string(number(json, "memory", "page_cache_files")) + " files, of " +
                         format_size(budget) + " allowed (" + percent(resident, budget) + ")");
  line("disk", disk_line(json));
  line("data set", where_line(json));
  line("prefetch", prefetch_line(json));
  line("opens", std::to_string(opens) + " seen (" + json["tracking"].value("mode", "") + "), " +
                    std::to_string(number(json, "reads", "hits")) + " hits (" +
                    percent(number(json, "reads", "hits"), opens) + "), " +
                    std::to_string(number(json, "reads", "misses")) + " misses, " +
                    std::to_string(number(json, "reads", "stale")) + " stale");
  line("recording", recording_line(json));
  line("fetched", format_size(number(json, "fetches", "bytes")) + " in " +
                      std::to_string(number(json, "fetches", "total")) + " reads of the source, " +
                      std::to_string(number(json, "fetches", "in_flight")) + " under way, " +
                      std::to_string(number(json, "fetches", "failures")) + " failed");
  if (json.value("warm", Json::object()).value("running", false)) {
    line("warming", std::to_string(number(json, "warm", "done_files")) + " of " +
                        std::to_string(number(json, "warm", "files")) + " files");
  }
  line("requests", std::to_string(json.value("requests_total", std::uint64_t{0})) + " from the kernel");
  line("daemon", "process " + std::to_string(json.value("worker_pid", 0)) + " (holder " +
                     std::to_string(json.value("holder_pid", 0)) + ", " +
                     std::to_string(number(json, "survival", "deaths")) + " restarts), " +
                     format_size(number(json, "daemon", "resident_bytes")) + " resident (at most " +
                     format_size(number(json, "daemon", "high_water_bytes")) + ", allowed " +
                     format_size(number(json, "memory", "worker_bound_bytes")) + "), up " +
                     std::to_string(static_cast<std::uint64_t>(json.value("uptime_seconds", 0.0))) + " s");
  if (!json.value("survival", Json::object()).value("resend", true))
    line("survival", "this kernel (before 6.9) cannot hand requests on: a crash remounts, open files fail");
  return text.str();
}

Json read_or_explain(const std::string& mountpoint) {
  try {
    return read_status(mountpoint);
  } catch (const StartupError& error) {
    return {{"mountpoint", mountpoint}, {"error", error.what()}};
  }
}

// Without a mountpoint: all of them, dead ones with the reason.
std::string show_all(bool as_json) {
  Json all = Json::array();
  std::string text;
  for (const MountEntry& entry : winnow_mounts()) {
    Json one = read_or_explain(entry.mountpoint);
    text += one.contains("error") ? entry.mountpoint + "\n  " + one.value("error", "") + "\n" : as_text(one);
    all.push_back(std::move(one));
  }
  if (as_json) return dump(all);
  return text.empty() ? "no Winnow mounts\n" : text;
}

std::string show(const std::string& mountpoint, bool as_json) {
  if (mountpoint.empty()) return show_all(as_json);
  const Json json = read_status(find_mount(mountpoint).mountpoint);
  return as_json ? dump(json) : as_text(json);
}

// The names the mount does not show, one a line, each behind its reason.
std::string show_skipped(const std::string& mountpoint, bool as_json) {
  const Json status = read_status(find_mount(mountpoint).mountpoint);
  const std::string path = status.value("state_dir", "") + "/skipped";
  const SkippedNames skipped = load_skipped(path, true);
  const std::uint64_t known = skipped.names.size();
  Json names = Json::array();
  std::string text;
  for (const auto& [reason, name] : skipped.names) {
    names.push_back({{"reason", reason}, {"name", name}});
    text += reason + "\t" + name + "\n";
  }
  std::uint64_t left_out = 0;
  for (const auto& [reason, count] : status["snapshot"]["left_out"].items())
    left_out += count.get<std::uint64_t>();
  if (left_out > 0 && known == 0 && access(path.c_str(), R_OK) != 0)
    throw StartupError(path + " cannot be read: " + errno_text(errno) + "; ask as the user who mounted");
  if (as_json) return dump({{"left_out", status["snapshot"]["left_out"]}, {"names", names}});
  if (left_out > known)
    text += "and " + std::to_string(left_out - known) + " more, which were only counted\n";
  return text.empty() ? "nothing was skipped\n" : text;
}

void watch(const std::string& mountpoint, bool as_json) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  while (true) {
    const std::string text = show(mountpoint, as_json);
    if (terminal && !as_json) std::cout << "\033[H\033[J";
    std::cout << text << std::flush;
    if (!std::cout) return;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace

void add_status_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("status", "Show what a mount, or every mount, is doing");
  auto mountpoint = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  auto again = std::make_shared<bool>(false);
  auto restart = std::make_shared<bool>(false);
  auto skipped = std::make_shared<bool>(false);
  CLI::Option* where =
      command->add_option("MOUNTPOINT", *mountpoint, "Where it is mounted; default: every mount");
  command->add_flag("--json", *as_json, "Print as JSON");
  command->add_flag("--watch", *again, "Show it again every second");
  command->add_flag("--restart", *restart, "Let a mount that gave up after too many deaths start again first")
      ->needs(where);
  command->add_flag("--skipped", *skipped, "List the names of the source that the mount does not show")
      ->needs(where);
  auto record = std::make_shared<std::string>();
  auto record_limit = std::make_shared<std::string>("1G");
  auto record_stop = std::make_shared<bool>(false);
  CLI::Option* begins =
      command
          ->add_option("--record", *record, "Let the mount write the trace of its accesses to this new file")
          ->needs(where);
  command->add_option("--record-limit", *record_limit, "Where the recording ends by itself")
      ->needs(begins)
      ->capture_default_str();
  command->add_flag("--record-stop", *record_stop, "End the recording")->needs(where)->excludes(begins);
  command->callback([=] {
    if (*skipped) {
      std::cout << show_skipped(*mountpoint, *as_json) << std::flush;
      return;
    }
    if (*restart) restart_worker(resolve_mountpoint(*mountpoint));
    if (!record->empty()) return begin_recording(*mountpoint, *record, *record_limit);
    if (*record_stop) return end_recording(*mountpoint);
    if (*again) return watch(*mountpoint, *as_json);
    std::cout << show(*mountpoint, *as_json) << std::flush;
  });
}

}  // namespace winnow
