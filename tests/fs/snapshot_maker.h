// Catalogues and trees in a temporary folder, made of listings by hand.
#pragma once

#include <memory>
#include <string>

#include "cache/result.h"
#include "fs/catalogue_writer.h"
#include "fs/tree.h"
#include "tests/cache/temporary_folder.h"
#include "tests/fs/listing_builder.h"

namespace winnow {

class SnapshotMaker {
 public:
  std::string catalogue_path() const { return folder_ / "catalogue"; }
  std::string journal_path() const { return folder_ / "journal"; }
  const TemporaryFolder& folder() const { return folder_; }

  void write(const Listing& listing, const Tree* previous = nullptr) const {
    write_catalogue(catalogue_path(), listing, previous,
                    {.source = "dir:/data", .follows_symlinks = false, .taken_at = 1'700'000'000});
  }
  std::shared_ptr<Tree> open() const {
    return std::make_shared<Tree>(std::make_shared<const Catalogue>(catalogue_path()), journal_path());
  }
  std::shared_ptr<Tree> tree(const ListingBuilder& builder, const Tree* previous = nullptr) const {
    write(builder.listing(), previous);
    return open();
  }

 private:
  TemporaryFolder folder_;
};

// The node at a path of names; nullopt if there is none.
inline std::optional<Node> at_path(const Tree& tree, const std::string& path) {
  std::optional<Node> node = tree.root();
  for (std::size_t begin = 0; node && begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    node = tree.child(*node, path.substr(begin, end - begin));
    begin = end + 1;
  }
  return node;
}

inline std::uint64_t id_at(const Tree& tree, const std::string& path) {
  const auto node = at_path(tree, path);
  return node ? value(node->id) : 0;
}

}  // namespace winnow
