#include <array>
#include <sstream>
#include <stdexcept>

#include "fs/commands.h"

namespace winnow {

namespace {

// Words of mount(8) and fstab that say nothing to us: who mounts, when, and what a mount of ours is anyway.
// rw is what mount(8) passes when nothing is said.
bool is_for_others(const std::string& name) {
  static constexpr std::array kNames = {"ro",        "rw",
                                        "auto",      "noauto",
                                        "user",      "nouser",
                                        "users",     "owner",
                                        "group",     "_netdev",
                                        "nofail",    "nosuid",
                                        "nodev",     "dev",
                                        "suid",      "exec",
                                        "noexec",    "relatime",
                                        "noatime",   "defaults",
                                        "async",     "default_permissions",
                                        "nodiratime"};
  return name.starts_with("x-") || name.starts_with("X-") || name.starts_with("comment=") ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

void add_options(const std::string& list, std::vector<std::string>& words) {
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) {
    if (name.empty() || is_for_others(name)) continue;
    std::string option = "--" + name;
    const std::size_t end = std::min(option.find('='), option.size());
    std::replace(option.begin(), option.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
    words.push_back(std::move(option));
  }
}

}  // namespace

std::vector<std::string> mount_helper_words(const std::vector<std::string>& words) {
  std::vector<std::string> translated = {"mount"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool takes_value = word == "-o" || word == "-t" || word == "-N";
    if (takes_value && i + 1 == words.size()) throw std::invalid_argument(word + " needs a value");
    if (word == "-o") add_options(words[i + 1], translated);
    if (takes_value) {
      ++i;
    } else if (word.empty() || word[0] != '-') {
      translated.push_back(word);
    }  // what is left are -s, -f, -n and -v of mount(8)
  }
  return translated;
}

}  // namespace winnow
