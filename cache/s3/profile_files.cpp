#include "cache/s3/profile_files.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cache/result.h"

namespace winnow::s3 {

namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Services of the system have no HOME.
std::string home() {
  const std::string told = environment("HOME");
  if (!told.empty()) return told;
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> text;
  getpwuid_r(geteuid(), &entry, text.data(), text.size(), &found);
  return found == nullptr ? "" : found->pw_dir;
}

std::string place_of(const char* variable, const char* name) {
  const std::string given = environment(variable);
  return given.empty() ? home() + "/.aws/" + name : given;
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::map<std::string, Profile> parse_ini(const std::string& text) {
  std::map<std::string, Profile> sections;
  Profile* section = nullptr;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string words = trimmed(line);
    if (words.empty() || words[0] == '#' || words[0] == ';') continue;
    if (words[0] == '[') {
      section = &sections[trimmed(words.substr(1, words.find(']') - 1))];
      continue;
    }
    const bool nested = line[0] == ' ' || line[0] == '\t';
    const auto equals = words.find('=');
    if (section == nullptr || nested || equals == std::string::npos) continue;
    (*section)[trimmed(words.substr(0, equals))] = trimmed(words.substr(equals + 1));
  }
  return sections;
}

Profile load_profile(const std::string& name, bool must_exist) {
  const std::string credentials_path = place_of("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  const std::string config_path = place_of("AWS_CONFIG_FILE", "config");
  const auto credentials = parse_ini(read_text(credentials_path));
  const auto config = parse_ini(read_text(config_path));
  const auto in_credentials = credentials.find(name);
  auto in_config = config.find("profile " + name);
  if (in_config == config.end() && name == "default") in_config = config.find(name);
  Profile found;
  if (in_config != config.end()) found = in_config->second;
  if (in_credentials != credentials.end())
    for (const auto& [key, value] : in_credentials->second) found[key] = value;
  if (must_exist && in_config == config.end() && in_credentials == credentials.end()) {
    throw StartupError("the profile '" + name + "' is neither in " + credentials_path + " nor in " +
                       config_path + "; name one that is there with --s3-profile or AWS_PROFILE");
  }
  return found;
}

}  // namespace winnow::s3
