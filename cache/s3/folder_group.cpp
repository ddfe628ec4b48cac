#include "cache/s3/folder_group.h"

#include <iterator>

namespace winnow::s3 {

namespace {

constexpr std::size_t kMaxKey = 1024;
constexpr std::string_view kLastCharacter = "\xF4\x8F\xBF\xBF";  // U+10FFFF

}  // namespace

FolderGroup::FolderGroup(std::string parent, std::deque<std::string> folders)
    : parent_(std::move(parent)), first_(folders.front()), end_(folders.back()), ahead_(std::move(folders)) {
  end_.back() = '/' + 1;
}

// '.' is the character before '/'. A key in between is dropped when it comes.
std::string FolderGroup::start_after() const {
  std::string before = first_;
  before.back() = '/' - 1;
  if (before.size() + kLastCharacter.size() <= kMaxKey) before += kLastCharacter;
  return before;
}

bool FolderGroup::take(ListPage& page) {
  const bool ended = !page.objects.empty() && page.objects.back().key >= end_;
  std::erase_if(page.objects, [&](const ListedObject& object) {
    const auto slash = object.key.find('/', parent_.size());
    if (slash == std::string::npos || object.key < first_ || object.key >= end_) return true;
    reach(object.key.substr(0, slash + 1));
    return false;
  });
  return ended;
}

void FolderGroup::reach(const std::string& folder) {
  while (!ahead_.empty() && ahead_.front() <= folder) {
    if (ahead_.front() != folder) passed_over_.push_back(std::move(ahead_.front()));
    ahead_.pop_front();
  }
}

std::optional<FolderGroup> FolderGroup::give_half() {
  if (ahead_.empty()) return std::nullopt;
  const auto middle = ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_.size() / 2);
  FolderGroup given(parent_, {std::make_move_iterator(middle), std::make_move_iterator(ahead_.end())});
  ahead_.erase(middle, ahead_.end());
  end_ = given.first_;
  return given;
}

std::deque<std::string> FolderGroup::unseen() const {
  std::deque<std::string> all = passed_over_;
  all.insert(all.end(), ahead_.begin(), ahead_.end());
  return all;
}

}  // namespace winnow::s3
