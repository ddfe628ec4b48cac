#include "cache/s3/key_tree.h"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <unordered_map>

namespace winnow::s3 {

namespace {

constexpr std::size_t kMaxName = 255;

// Why no file can have this path; null if one can. `path` may end with '/'.
const LeftOutReason* why_not(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return &kNulNames;
  if (path.ends_with('/')) path.remove_suffix(1);
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (begin == 0 && part == kReservedName) return &kReserved;
    if (part.empty()) return &kEmptyNames;
    if (part == "." || part == "..") return &kDotNames;
    if (part.size() > kMaxName) return &kLongNames;
    if (end == path.size()) return nullptr;
    begin = end + 1;
  }
}

class TreeBuilder {
 public:
  TreeBuilder() {
    listing_.entries.push_back({.stat = folder_stat(0)});
    folders_[""] = 0;
  }

  // The folder of this path (without a slash at its end), made with those above it if it is new.
  std::uint32_t folder(const std::string& path) {
    if (const auto found = folders_.find(path); found != folders_.end()) return found->second;
    const auto slash = path.rfind('/');
    const std::uint32_t above = folder(slash == std::string::npos ? "" : path.substr(0, slash));
    const std::uint32_t made =
        add(above, path.substr(slash == std::string::npos ? 0 : slash + 1), folder_stat(0));
    folders_[path] = made;
    return made;
  }

  void file(const std::string& path, const ListedObject& object) {
    if (folders_.contains(path)) return listing_.skip(kShadowed, path);
    const auto slash = path.rfind('/');
    const std::uint32_t where = folder(slash == std::string::npos ? "" : path.substr(0, slash));
    add(where, path.substr(slash == std::string::npos ? 0 : slash + 1),
        file_stat(version_of(object.etag, object.size, object.modified)));
    touch(where, object.modified);
  }

  // A folder is as old as the newest object in it or below.
  void touch(std::uint32_t at, std::int64_t modified) {
    while (true) {
      Timestamp& time = listing_.entries[at].stat.version.mtime;
      if (time.seconds >= modified) return;
      time.seconds = modified;
      listing_.entries[at].stat.version.ctime = time;
      if (at == 0) return;
      at = listing_.entries[at].folder;
    }
  }

  Listing& listing() { return listing_; }

 private:
  std::uint32_t add(std::uint32_t where, const std::string& name, const FileStat& stat) {
    ListedEntry& entry = listing_.entries.emplace_back();
    entry.folder = where;
    entry.name_offset = listing_.text.size();
    entry.name_length = static_cast<std::uint32_t>(name.size());
    entry.stat = stat;
    listing_.text += name;
    entry.target_offset = listing_.text.size();
    return static_cast<std::uint32_t>(listing_.entries.size() - 1);
  }

  Listing listing_;
  std::unordered_map<std::string, std::uint32_t> folders_;
};

}  // namespace

Version version_of(const std::string& etag, std::uint64_t size, std::int64_t modified) {
  const Timestamp time{.seconds = modified};
  return {.tag = XXH3_64bits(etag.data(), etag.size()), .size = size, .mtime = time, .ctime = time};
}

FileStat file_stat(const Version& version) {
  return {.mode = S_IFREG | 0444, .uid = geteuid(), .gid = getegid(), .version = version};
}

FileStat folder_stat(std::int64_t modified) {
  const Timestamp time{.seconds = modified};
  return {
      .mode = S_IFDIR | 0555, .uid = geteuid(), .gid = getegid(), .version = {.mtime = time, .ctime = time}};
}

Listing make_tree(std::vector<ListedObject> objects, const std::string& prefix) {
  std::sort(objects.begin(), objects.end(),
            [](const ListedObject& a, const ListedObject& b) { return a.key < b.key; });
  objects.erase(std::unique(objects.begin(), objects.end(),
                            [](const ListedObject& a, const ListedObject& b) { return a.key == b.key; }),
                objects.end());  // listed twice, while it was being written
  TreeBuilder tree;
  // Folders first: whether an object's name is also a folder's is known only after the last key.
  for (ListedObject& object : objects) {
    std::string path = object.key.substr(prefix.size());
    object.key.clear();
    if (path.empty()) {  // the marker of the mounted folder itself
      tree.touch(0, object.modified);
      continue;
    }
    if (const LeftOutReason* reason = why_not(path)) {
      tree.listing().skip(*reason, std::move(path));
      continue;
    }
    const auto slash = path.rfind('/');
    if (slash != std::string::npos) {
      const std::uint32_t where = tree.folder(path.substr(0, slash));
      if (slash + 1 == path.size()) {
        tree.touch(where, object.modified);
        if (object.size > 0) tree.listing().skip(kShadowed, path);  // a folder has no bytes to show
        continue;
      }
    }
    object.key = std::move(path);
  }
  for (const ListedObject& object : objects)
    if (!object.key.empty()) tree.file(object.key, object);
  return std::move(tree.listing());
}

}  // namespace winnow::s3
