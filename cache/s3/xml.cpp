#include "cache/s3/xml.h"

#include <expat.h>

#include <climits>
#include <memory>
#include <vector>

namespace winnow::s3 {

namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxText = 64 << 10;  // of one element

struct OpenElement {
  std::size_t parent_path;  // length of the path without it
  std::string text;
};

struct Walk {
  XML_Parser parser;
  const XmlElement& on_end;
  std::string path;
  std::vector<OpenElement> open;
  bool refused = false;

  void refuse() {
    refused = true;
    XML_StopParser(parser, XML_FALSE);
  }
};

std::string_view local_name(const XML_Char* name) {
  const std::string_view text(name);
  const auto colon = text.rfind(':');
  return colon == std::string_view::npos ? text : text.substr(colon + 1);
}

void on_start(void* context, const XML_Char* name, const XML_Char**) {
  Walk& walk = *static_cast<Walk*>(context);
  if (walk.refused) return;
  if (walk.open.size() == kMaxDepth) return walk.refuse();
  walk.open.push_back({walk.path.size(), {}});
  if (walk.open.size() > 1) walk.path += '/';
  walk.path += local_name(name);
}

void on_text(void* context, const XML_Char* text, int length) {
  Walk& walk = *static_cast<Walk*>(context);
  if (walk.refused || walk.open.empty()) return;
  std::string& known = walk.open.back().text;
  if (known.size() + static_cast<std::size_t>(length) > kMaxText) return walk.refuse();
  known.append(text, static_cast<std::size_t>(length));
}

void on_end_element(void* context, const XML_Char*) {
  Walk& walk = *static_cast<Walk*>(context);
  if (walk.refused) return;
  if (!walk.on_end(walk.path, walk.open.back().text)) return walk.refuse();
  walk.path.resize(walk.open.back().parent_path);
  walk.open.pop_back();
}

void on_doctype(void* context, const XML_Char*, const XML_Char*, const XML_Char*, int) {
  static_cast<Walk*>(context)->refuse();
}

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};

}  // namespace

bool walk_xml(std::string_view text, const XmlElement& on_end) {
  if (text.size() > INT_MAX) return false;
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser> parser(XML_ParserCreate(nullptr));
  if (!parser) return false;
  Walk walk{.parser = parser.get(), .on_end = on_end};
  XML_SetUserData(parser.get(), &walk);
  XML_SetElementHandler(parser.get(), on_start, on_end_element);
  XML_SetCharacterDataHandler(parser.get(), on_text);
  XML_SetStartDoctypeDeclHandler(parser.get(), on_doctype);
  const auto status = XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), 1);
  return status == XML_STATUS_OK && !walk.refused;
}

}  // namespace winnow::s3
