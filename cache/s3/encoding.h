// How S3 writes names in URLs, hashes in text, and times. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace winnow::s3 {

// Every byte but letters, digits and -_.~ becomes %XX; '/' stays where it separates the parts of a key.
std::string percent_encode(std::string_view text, bool keep_slash);
// Undoes encoding-type=url of a listing, where a space may be '+'; nullopt if a % is not followed by two
// digits.
std::optional<std::string> percent_decode(std::string_view text);

std::string to_hex(std::string_view bytes);
std::string sha256(std::string_view bytes);  // 32 bytes
std::string hmac_sha256(std::string_view key, std::string_view message);
std::string md5_hex(const void* bytes, std::size_t size);

// Seconds since the epoch of "2026-01-31T10:20:30.000Z" and of "Sat, 31 Jan 2026 10:20:30 GMT".
std::optional<std::int64_t> parse_iso_time(const std::string& text);
std::optional<std::int64_t> parse_http_time(const std::string& text);

std::string without_quotes(std::string_view etag);

}  // namespace winnow::s3
