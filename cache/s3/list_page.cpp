#include "cache/s3/list_page.h"

#include <charconv>

#include "cache/s3/encoding.h"
#include "cache/s3/xml.h"

namespace winnow::s3 {

namespace {

std::optional<std::uint64_t> parse_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes the elements of a page as they end.
class PageBuilder {
 public:
  bool take(std::string_view path, const std::string& text) {
    static constexpr std::string_view kRoot = "ListBucketResult";
    if (!path.starts_with(kRoot)) return false;
    if (path.size() == kRoot.size()) {
      ended_ = true;
      return true;
    }
    path.remove_prefix(kRoot.size() + 1);
    if (path.starts_with("Contents")) return take_object(path, text);
    if (path == "CommonPrefixes/Prefix") {
      page_.prefixes.push_back(text);
    } else if (path == "IsTruncated") {
      if (text != "true" && text != "false") return false;
      truncated_ = text == "true";
    } else if (path == "NextContinuationToken") {
      page_.next = text;
    } else if (path == "EncodingType") {
      encoded_ = text == "url";
    }
    return true;
  }

  std::optional<ListPage> finish() {
    if (!ended_ || !truncated_) return std::nullopt;
    if (!*truncated_) page_.next.reset();
    if (*truncated_ && (!page_.next || page_.next->empty())) return std::nullopt;
    if (encoded_ && !decode_names()) return std::nullopt;
    return std::move(page_);
  }

 private:
  bool take_object(std::string_view path, const std::string& text) {
    if (path == "Contents") {
      const bool complete = has_key_ && has_size_ && has_time_ && !object_.etag.empty();
      page_.objects.push_back(std::move(object_));
      object_ = {};
      has_key_ = has_size_ = has_time_ = false;
      return complete;
    }
    if (path == "Contents/Key") {
      object_.key = text;
      has_key_ = true;
    } else if (path == "Contents/Size") {
      const auto size = parse_number(text);
      object_.size = size.value_or(0);
      has_size_ = size.has_value();
    } else if (path == "Contents/LastModified") {
      const auto time = parse_iso_time(text);
      object_.modified = time.value_or(0);
      has_time_ = time.has_value();
    } else if (path == "Contents/ETag") {
      object_.etag = without_quotes(text);
    }
    return true;
  }

  bool decode_names() {
    const auto decode = [](std::string& name) {
      auto decoded = percent_decode(name);
      if (decoded) name = std::move(*decoded);
      return decoded.has_value();
    };
    for (ListedObject& object : page_.objects)
      if (!decode(object.key)) return false;
    for (std::string& prefix : page_.prefixes)
      if (!decode(prefix)) return false;
    return true;
  }

  ListPage page_;
  ListedObject object_;
  bool has_key_ = false;
  bool has_size_ = false;
  bool has_time_ = false;
  bool encoded_ = false;
  bool ended_ = false;
  std::optional<bool> truncated_;
};

}  // namespace

std::optional<ListPage> parse_list_page(std::string_view xml) {
  PageBuilder builder;
  if (!walk_xml(xml,
                [&](std::string_view path, const std::string& text) { return builder.take(path, text); }))
    return std::nullopt;
  return builder.finish();
}

ErrorDocument parse_error_document(std::string_view xml) {
  ErrorDocument found;
  walk_xml(xml, [&](std::string_view path, const std::string& text) {
    if (path == "Error/Code") found.code = text;
    if (path == "Error/Message") found.message = text;
    if (path == "Error/Region") found.region = text;
    return true;
  });
  return found;
}

}  // namespace winnow::s3
