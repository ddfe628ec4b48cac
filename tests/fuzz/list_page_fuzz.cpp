// Whatever a store answers, the parser of listings gives a page or refuses it; what it gives holds together.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cache/s3/list_page.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto page = winnow::s3::parse_list_page(text);
  if (page) {
    if (page->next && page->next->empty()) std::abort();
    for (const auto& object : page->objects)
      if (object.etag.empty()) std::abort();
  }
  const auto error = winnow::s3::parse_error_document(text);
  if (error.code.size() > size) std::abort();
  return 0;
}
