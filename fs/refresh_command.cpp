#include <iostream>

#include "fs/commands.h"
#include "fs/control.h"
#include "fs/mount_lookup.h"

namespace winnow {

void add_refresh_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("refresh", "Scan the source anew and bring what changed into the mount");
  auto mountpoint = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  command->add_option("MOUNTPOINT", *mountpoint, "Where it is mounted")->required();
  command->add_flag("--json", *as_json, "Print the result as JSON");
  command->callback([=] {
    const auto status = read_status(find_mount(*mountpoint).mountpoint);
    auto result = call_daemon(status.value("control_socket", ""), {{"command", "refresh"}});
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
