#include "cache/s3/page_check.h"

#include <algorithm>
#include <functional>

namespace winnow::s3 {

namespace {

// Drops names that repeat the one before. False if one is out of order.
template <typename Named, typename NameOf>
bool ascend(std::vector<Named>& all, std::string& last, NameOf name_of) {
  bool in_order = true;
  std::erase_if(all, [&](const Named& one) {
    const std::string& name = std::invoke(name_of, one);
    if (name <= last) {
      in_order = in_order && name == last;
      return true;
    }
    last = name;
    return false;
  });
  return in_order;
}

}  // namespace

std::string PageCheck::take(ListPage& page) {
  for (const ListedObject& object : page.objects)
    if (!object.key.starts_with(prefix_)) return "the store lists keys that were not asked for";
  for (const std::string& folder : page.prefixes)
    if (!folder.starts_with(prefix_) || folder.size() == prefix_.size() || !folder.ends_with('/'))
      return "the store lists folders that were not asked for";
  if (!ascend(page.objects, last_key_, &ListedObject::key) ||
      !ascend(page.prefixes, last_folder_, std::identity()))
    return "the store does not list names in the order of their bytes";
  // Names only ascend, so a page that brought one does not come again.
  if (!page.objects.empty() || !page.prefixes.empty()) tokens_.clear();
  if (page.next && !tokens_.insert(*page.next).second)
    return "the store gives the same pages again and again";
  return {};
}

}  // namespace winnow::s3
