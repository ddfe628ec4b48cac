// One version of one file of the source, and the id the catalogue gave it.
#pragma once

#include <string>

#include "cache/file_stat.h"
#include "policy/sample.h"

namespace winnow {

struct FileRef {
  SampleId id{};
  std::string path;
  Version version;
};

}  // namespace winnow
