// The source a mount's options name: a folder, or s3://bucket/prefix.
#pragma once

#include <memory>

#include "cache/source.h"
#include "fs/mount_options.h"

namespace winnow {

// For workers: it is not asked anything yet, so that one can start while the storage is away. Throws
// StartupError.
std::unique_ptr<Source> make_source(const MountOptions& options);

// For whoever mounts: throws StartupError with a sentence if the source cannot be listed now.
std::unique_ptr<Source> make_reachable_source(const MountOptions& options);

}  // namespace winnow
