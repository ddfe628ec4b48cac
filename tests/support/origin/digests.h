// What SigV4 and ETags are made of, and how S3 writes names in URLs. Apart from the product's own code, so
// that a mistake there does not meet the same mistake here.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace origin {

std::string md5(std::string_view bytes);
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view message);
std::string to_hex(std::string_view bytes);

// Every byte but letters, digits and -_.~ as %XX; '/' too unless kept.
std::string url_encode(std::string_view text, bool keep_slash);
std::string url_decode(std::string_view text);
std::string xml_escape(std::string_view text);

std::string http_date(std::time_t when);
std::string iso_date(std::time_t when);  // 2026-01-31T00:00:00.000Z

}  // namespace origin
