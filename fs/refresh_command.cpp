#include <unistd.h>

#include <chrono>
#include <future>
#include <iostream>

#include "fs/commands.h"
#include "fs/control.h"
#include "fs/mount_lookup.h"

namespace winnow {

namespace {

// Waits for the daemon's answer; on a terminal, shows meanwhile how far the scan has come.
nlohmann::json refresh(const std::string& mountpoint, const std::string& socket) {
  auto answer = std::async(std::launch::async, [&] { return call_daemon(socket, {{"command", "refresh"}}); });
  const bool terminal = isatty(STDERR_FILENO) != 0;
  bool shown = false;
  while (answer.wait_for(std::chrono::seconds(1)) != std::future_status::ready) {
    if (!terminal) continue;
    shown = true;
    const auto status = read_status(mountpoint);
    std::cerr << "\rscanning: " << status["snapshot"].value("names_scanned", 0) << " names\033[K"
              << std::flush;
  }
  if (shown) std::cerr << "\r\033[K" << std::flush;
  return answer.get();
}

}  // namespace

void add_refresh_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("refresh", "Scan the source anew and bring what changed into the mount");
  auto mountpoint = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  command->add_option("MOUNTPOINT", *mountpoint, "Where it is mounted")->required();
  command->add_flag("--json", *as_json, "Print the result as JSON");
  command->callback([=] {
    const std::string at = find_mount(*mountpoint).mountpoint;
    auto result = refresh(at, read_status(at).value("control_socket", ""));
    result.erase("ok");
    if (*as_json) {
      std::cout << result.dump(2) << std::endl;
      return;
    }
    std::cout << result.value("added", 0) << " added, " << result.value("removed", 0) << " removed, "
              << result.value("changed", 0) << " changed; " << result.value("files", 0) << " files"
              << std::endl;
  });
}

}  // namespace winnow
