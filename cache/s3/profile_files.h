// The shared credentials and config files of AWS's tools: sections of `name = value` lines. Missing files are
// empty.
#pragma once

#include <map>
#include <string>

namespace winnow::s3 {

using Profile = std::map<std::string, std::string>;

// Sections by name, as written between the brackets. Lines of nested settings are left out.
std::map<std::string, Profile> parse_ini(const std::string& text);

// What both files say of a profile; the credentials file wins. Places from AWS_SHARED_CREDENTIALS_FILE and
// AWS_CONFIG_FILE, else ~/.aws (of HOME, or of who runs this). Throws StartupError if `name` was asked for by
// somebody and neither has it.
Profile load_profile(const std::string& name, bool must_exist);

// A variable of the environment, or "".
std::string environment(const char* name);

}  // namespace winnow::s3
