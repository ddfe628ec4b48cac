#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <iostream>

#include "cache/result.h"
#include "fs/commands.h"
#include "fs/control.h"
#include "fs/mount_lookup.h"
#include "fs/option_check.h"
#include "fs/units.h"
#include "fs/warm.h"

namespace winnow {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted = 0;

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 120) return std::to_string(whole) + " s";
  if (whole < 7200) return std::to_string(whole / 60) + " min";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

// "[#####-----] 52 %  1.1 GiB of 2.1 GiB  98.2 MiB/s  12 s left"
std::string bar(const nlohmann::ordered_json& warm, double seconds) {
  constexpr int kWidth = 24;
  const double bytes = warm.value("bytes", 0.0);
  const double done = warm.value("done_bytes", 0.0);
  const double fetched = done - warm.value("found_bytes", 0.0);  // what was there before took no time
  const double share = bytes > 0 ? done / bytes : 1;
  std::string text = "[";
  for (int i = 0; i < kWidth; ++i) text += i < share * kWidth ? '#' : '-';
  text += "] " + std::to_string(static_cast<int>(share * 100)) + " %  " + format_size(static_cast<std::uint64_t>(done)) +
          " of " + format_size(static_cast<std::uint64_t>(bytes));
  if (seconds < 0.5 || fetched <= 0) return text;
  return text + "  " + format_size(static_cast<std::uint64_t>(fetched / seconds)) + "/s  " +
         duration_text((bytes - done) * seconds / fetched) + " left";
}

// Nothing if the mount does not tell: it may be ending, and the answer says so.
std::string progress_of(const std::string& mountpoint, double seconds) {
  try {
    return bar(read_status(mountpoint)["warm"], seconds);
  } catch (const StartupError&) {
    return {};
  }
}

// Waits for the daemon's answer; on a terminal, shows how far it is. An interrupt ends the warming, not only the wait.
nlohmann::json warm(const std::string& mountpoint, const std::string& socket, const nlohmann::json& request) {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  auto answer = std::async(std::launch::async, [&] { return call_daemon(socket, request); });
  const auto began = Clock::now();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  bool told = false;
  while (answer.wait_for(200ms) != std::future_status::ready) {
    if (interrupted != 0 && !told) call_daemon(socket, {{"command", "warm-cancel"}});
    told = interrupted != 0;
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    if (terminal) std::cerr << '\r' << progress_of(mountpoint, seconds) << "\033[K" << std::flush;
  }
  if (terminal) std::cerr << "\r\033[K" << std::flush;
  return answer.get();
}

// Each file is told of once, but for those that held other bytes, which are among the compared ones.
void print_check(const nlohmann::json& result) {
  const auto number = [&](const char* key) { return std::to_string(result.value(key, std::uint64_t{0})); };
  std::cout << "compared " << number("compared_files") << " of " << number("files") << " files with the source, "
            << number("not_held_files") << " not held, " << number("unreadable_files")
            << " not readable in the cache (" << number("unreadable_slots") << " slots torn or unreadable)\n"
            << number("wrong_files") << " held other bytes than the source, " << number("changed_files")
            << " changed or vanished there, " << number("failed_files") << " could not be read there" << std::endl;
}

void print(const nlohmann::json& result) {
  const auto number = [&](const char* key) { return std::to_string(result.value(key, std::uint64_t{0})); };
  std::cout << "warmed " << number("held_files") << " of " << number("files") << " files ("
            << format_size(result.value("held_bytes", std::uint64_t{0})) << "), " << number("fetched_files") << " fetched, "
            << number("failed_files") << " failed";
  if (result.value("full", false)) std::cout << "; the cache is full";
  std::cout << std::endl;
}

// Not by whoever runs the command.
std::string how_it_was_broken_off(const nlohmann::json& result, const std::string& mountpoint, bool check) {
  const bool is_gone = !mount_at(mountpoint);
  const std::string done = std::to_string(result.value(check ? "done_files" : "held_files", std::uint64_t{0}));
  const std::string of = " of " + std::to_string(result.value("files", std::uint64_t{0})) + " files were ";
  const bool goes_on = !check && (result.value("on_disk", false) || !is_gone);
  return std::string(is_gone ? "the mount ended" : "the warming was broken off") + " when " + done + of +
         (check ? "looked at" : "warmed") + "; run it again" + (is_gone ? " after the next mount" : "") +
         (goes_on ? ", it goes on where it stopped" : "");
}

// One sentence, if not all is well.
void complain(const nlohmann::json& result, const std::string& mountpoint, bool check) {
  const auto number = [&](const char* key) { return result.value(key, std::uint64_t{0}); };
  if (interrupted != 0) throw StartupError("interrupted; run it again to go on from there");
  if (result.value("cancelled", false)) throw StartupError(how_it_was_broken_off(result, mountpoint, check));
  const std::string trouble = result.value("disk_trouble", "");
  if (result.value("not_writing", false)) {
    throw StartupError("given up with " + std::to_string(number("held_files")) + " of " +
                       std::to_string(number("files")) + " files warmed, as the disk is not written to" +
                       (trouble.empty() ? "" : ": " + trouble) +
                       "; mend that and run it again a minute later, it goes on where it stopped");
  }
  if (result.value("source_fails", false)) {
    throw StartupError("given up with " + std::to_string(number(check ? "done_files" : "held_files")) + " of " +
                       std::to_string(number("files")) + " files " + (check ? "checked" : "warmed") + ", as file after file could not be read from the source; look at winnow " +
                       "status and at winnow.log in the state directory, and run it again when the source answers, " +
                       "it goes on where it stopped");
  }
  if (number("failed_files") > 0) {
    throw StartupError(std::to_string(number("failed_files")) +
                       " files could not be read from the source; run it again when it answers");
  }
  if (number("wrong_files") + number("changed_files") > 0) {
    throw StartupError("what was held of " + std::to_string(number("wrong_files") + number("changed_files")) +
                       " files is not what the source has; it was dropped, and will be fetched anew");
  }
  if (!check && number("held_files") < number("files") && !result.value("full", false)) {
    throw StartupError(std::to_string(number("files") - number("held_files")) +
                       " files were fetched but not kept, as " +
                       (trouble.empty() ? "readers needed the room" : trouble) + "; run it again");
  }
}

}  // namespace

void add_warm_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("warm", "Fill the cache of a mount before training begins");
  auto mountpoint = std::make_shared<std::string>();
  auto order = std::make_shared<std::string>("path");
  auto list = std::make_shared<std::string>();
  auto fraction = std::make_shared<std::string>("100%");
  auto compare = std::make_shared<bool>(false);
  auto as_json = std::make_shared<bool>(false);
  command->add_option("MOUNTPOINT", *mountpoint, "Where it is mounted")->required();
  command->add_option("--order", *order, "path, importance, or list (with --list)")
      ->check(CLI::IsMember({"path", "importance", "list"}))
      ->capture_default_str();
  command->add_option("--list", *list, "File with one path a line, for --order list");
  command->add_option("--fraction", *fraction, "How many of the files, in that order: 20% or 0.2")
      ->check(parsed_by([](const std::string& text) { parse_fraction(text); }, "SHARE"))
      ->capture_default_str();
  command->add_flag("--check", *compare, "Compare what is cached with the source instead; what differs is dropped");
  command->add_flag("--json", *as_json, "Print the result as JSON");
  command->callback([=] {
    if ((*order == "list") == list->empty())
      throw CLI::ValidationError("--order list and --list FILE go together; give both or none");
    const std::string at = find_mount(*mountpoint).mountpoint;
    nlohmann::json request = {
        {"command", "warm"}, {"order", *order}, {"fraction", parse_fraction(*fraction)}, {"check", *compare}};
    if (!list->empty()) request["list"] = std::filesystem::absolute(*list).string();
    auto result = warm(at, read_status(at).value("control_socket", ""), request);
    result.erase("ok");
    if (*as_json) {
      std::cout << result.dump(2) << std::endl;
    } else {
      *compare ? print_check(result) : print(result);
    }
    complain(result, at, *compare);
  });
}

}  // namespace winnow
