#include "cache/s3/xml.h"

#include <expat.h>

#include <climits>
#include <memory>
#include <vector>

namespace winnow::s3 {

namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxText = 64 << 10;  // of one element

struct Walk {
  XML_Parser parser;
  const XmlElement& on_end;
  std::string path;
  std::vector<std::string> texts;  // of the elements that are open
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
  if (walk.texts.size() == kMaxDepth) return walk.refuse();
  if (!walk.path.empty()) walk.path += '/';
  walk.path += local_name(name);
  walk.texts.emplace_back();
}

void on_text(void* context, const XML_Char* text, int length) {
  Walk& walk = *static_cast<Walk*>(context);
  if (walk.refused || walk.texts.empty()) return;
  if (walk.texts.back().size() + static_cast<std::size_t>(length) > kMaxText) return walk.refuse();
  walk.texts.back().append(text, static_cast<std::size_t>(length));
}

void on_end_element(void* context, const XML_Char* name) {
  Walk& walk = *static_cast<Walk*>(context);
  if (walk.refused) return;
  if (!walk.on_end(walk.path, walk.texts.back())) return walk.refuse();
  walk.texts.pop_back();
  const std::size_t length = local_name(name).size();
  walk.path.resize(walk.path.size() - length - (walk.texts.empty() ? 0 : 1));
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
