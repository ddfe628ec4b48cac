// Walks an XML document of a store's through expat: small, flat answers only. A document with a DOCTYPE (and
// so entities of its own), with deep nesting or with huge text is refused.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace winnow::s3 {

// Called at the end of each element with its path from the root ("ListBucketResult/Contents/Key", without
// namespaces) and the text directly inside it. False stops the walk, which then fails.
using XmlElement = std::function<bool(std::string_view path, const std::string& text)>;

// False if the text is not one well-formed document, or was stopped.
bool walk_xml(std::string_view text, const XmlElement& on_end);

}  // namespace winnow::s3
