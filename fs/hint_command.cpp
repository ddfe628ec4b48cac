#include <filesystem>
#include <fstream>
#include <iostream>

#include "cache/result.h"
#include "fs/commands.h"
#include "fs/control.h"
#include "fs/mount_lookup.h"
#include "fs/mount_table.h"

namespace winnow {

namespace {

// The one that was named, the one a path in the file leads to, or the only one.
std::string mount_for(const std::string& named, const std::string& file) {
  if (!named.empty()) return find_mount(named).mountpoint;
  std::string first;
  std::getline(std::ifstream(file) >> std::ws, first);
  if (first.starts_with('/')) return find_mount(first.substr(0, first.rfind(','))).mountpoint;
  const auto mounts = winnow_mounts();
  if (mounts.size() == 1) return mounts[0].mountpoint;
  throw StartupError(std::to_string(mounts.size()) + " mounts are there; name the one the hint is for, behind the file");
}

}  // namespace

void add_hint_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("hint", "Tell a mount the order in which files will be read, or which matter");
  auto file = std::make_shared<std::string>();
  auto mountpoint = std::make_shared<std::string>();
  auto scores = std::make_shared<bool>(false);
  auto forget = std::make_shared<bool>(false);
  command->add_option("FILE", *file, "One path a line, in the order of reading; with --scores, path,score");
  command->add_option("MOUNTPOINT", *mountpoint, "Where it is mounted; default: the only mount, or that of the paths");
  CLI::Option* by_scores = command->add_flag("--scores", *scores, "FILE holds scores: the higher, the more a file matters");
  command->add_flag("--forget", *forget, "Take an order back; FILE is then the mountpoint")->excludes(by_scores);
  command->callback([=] {
    if (file->empty()) throw CLI::RequiredError("FILE");
    const std::string path = std::filesystem::absolute(*file).lexically_normal().string();
    const std::string at = *forget ? find_mount(*file).mountpoint : mount_for(*mountpoint, path);
    nlohmann::json request = {{"command", "hint"}, {"kind", *forget ? "forget" : *scores ? "scores" : "order"}};
    if (!*forget) request["file"] = path;
    const auto result = call_daemon(read_status(at).value("control_socket", ""), request);
    const auto files = result.value("files", std::uint64_t{0});
    if (*forget) {
      std::cout << "no order is followed any more" << std::endl;
    } else {
      std::cout << (*scores ? "scores of " : "an order of ") << files << " files, for " << at << std::endl;
    }
  });
}

}  // namespace winnow
