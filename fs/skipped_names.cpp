#include "fs/skipped_names.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "fs/checked_file.h"

namespace winnow {

namespace {

// One line a name, whatever bytes it has.
std::string escaped(const std::string& name) {
  std::string out;
  for (const unsigned char c : name) {
    if (c > 0x20 && c < 0x7f && c != '%') {
      out += static_cast<char>(c);
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", c);
      out += code;
    }
  }
  return out;
}

}  // namespace

void save_skipped(const std::string& path, const Listing& listing) {
  std::string text;
  for (const LeftOutReason& reason : kLeftOutReasons)
    text += "count " + std::string(reason.name) + " " + std::to_string(listing.left_out.*reason.count) + "\n";
  for (const SkippedName& skipped : listing.skipped)
    text += "name " + std::string(skipped.reason) + " " + escaped(skipped.name) + "\n";
  CheckedFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

SkippedNames load_skipped(const std::string& path, bool with_names) {
  SkippedNames found;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, reason, rest;
    words >> kind >> reason >> rest;
    if (kind == "name") {
      if (!with_names) break;
      found.names.emplace_back(reason, rest);
      continue;
    }
    for (const LeftOutReason& known : kLeftOutReasons)
      if (reason == known.name) found.counts.*known.count = std::strtoull(rest.c_str(), nullptr, 10);
  }
  return found;
}

}  // namespace winnow
