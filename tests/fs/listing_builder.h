// Makes listings by hand, as a source would give them: every entry after its folder.
#pragma once

#include <sys/stat.h>

#include <string>
#include <unordered_map>

#include "cache/listing.h"

namespace winnow {

class ListingBuilder {
 public:
  ListingBuilder() {
    listing_.entries.push_back({.stat = {.mode = S_IFDIR | 0755, .links = 2}});
    index_of_[""] = 0;
  }

  // Facts follow from the path unless a test gives its own: equal calls give equal facts.
  ListingBuilder& folder(const std::string& path) {
    add(path, {.mode = S_IFDIR | 0755, .links = 2, .version = version(path, 4096)});
    return *this;
  }
  ListingBuilder& file(const std::string& path, std::uint64_t size = 10) {
    add(path, {.mode = S_IFREG | 0644, .links = 1, .version = version(path, size)});
    return *this;
  }
  ListingBuilder& file(const std::string& path, const FileStat& stat) {
    add(path, stat);
    return *this;
  }
  // A name of the file `first`, which then has `links` of them all told.
  ListingBuilder& hard_link(const std::string& first, const std::string& path) {
    FileStat stat = listing_.entries[index_of_.at(first)].stat;
    ++stat.links;
    for (ListedEntry& entry : listing_.entries) {
      if (entry.stat.version == stat.version) entry.stat.links = stat.links;
    }
    add(path, stat);
    return *this;
  }
  ListingBuilder& symlink(const std::string& target, const std::string& path) {
    add(path, {.mode = S_IFLNK | 0777, .links = 1, .version = version(path, target.size())}, target);
    return *this;
  }
  // The file has other content now.
  ListingBuilder& change(const std::string& path) {
    Version& version = stat(path).version;
    ++version.tag;
    ++version.mtime.seconds;
    return *this;
  }
  FileStat& stat(const std::string& path) { return listing_.entries[index_of_.at(path)].stat; }
  ListingBuilder& left_out(const LeftOut& left_out) {
    listing_.left_out = left_out;
    return *this;
  }

  const Listing& listing() const { return listing_; }

 private:
  static Version version(const std::string& path, std::uint64_t size) {
    return {.tag = std::hash<std::string>()(path) | 1,
            .device = 7,
            .size = size,
            .mtime = {1'700'000'000, 5},
            .ctime = {1'700'000'001, 6}};
  }
  void add(const std::string& path, const FileStat& stat, const std::string& target = "") {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    ListedEntry entry;
    entry.folder = index_of_.at(folder);
    entry.name_offset = listing_.text.size();
    entry.name_length = static_cast<std::uint32_t>(name.size());
    listing_.text += name;
    entry.target_offset = listing_.text.size();
    listing_.text += target;
    entry.stat = stat;
    index_of_[path] = static_cast<std::uint32_t>(listing_.entries.size());
    listing_.entries.push_back(entry);
  }

  Listing listing_;
  std::unordered_map<std::string, std::uint32_t> index_of_;
};

}  // namespace winnow
