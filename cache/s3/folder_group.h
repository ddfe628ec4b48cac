// Neighbouring folders that are listed together: flat, from just before the first one to the end of the last.
// One request for each folder would be a million for a million folders of one image. Keys are in the order of
// their bytes, where "a.b/" comes before "a/". Not thread-safe.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "cache/s3/list_page.h"

namespace winnow::s3 {

class FolderGroup {
 public:
  // `folders` of `parent`, each with a '/' at its end, in order; at least one.
  FolderGroup(std::string parent, std::deque<std::string> folders);

  const std::string& parent() const { return parent_; }
  std::string start_after() const;

  // Leaves in the page what lies in these folders. What lies directly in the parent was listed with it. True
  // if the page reaches the end of the group.
  bool take(ListPage& page);

  // The second half of what no page has reached yet, for somebody else; nullopt if there is nothing left.
  std::optional<FolderGroup> give_half();

  // Folders without a key, once the end was reached: emptied meanwhile, or the store left them out.
  std::deque<std::string> unseen() const;

 private:
  void reach(const std::string& folder);

  std::string parent_;
  std::string first_;
  std::string end_;  // keys from here on are others'
  std::deque<std::string> ahead_;
  std::deque<std::string> passed_over_;
};

}  // namespace winnow::s3
