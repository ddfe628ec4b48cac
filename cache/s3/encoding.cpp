#include "cache/s3/encoding.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <ctime>
#include <stdexcept>

namespace winnow::s3 {

namespace {

std::string digest(const EVP_MD* kind, const void* bytes, std::size_t size) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned length = 0;
  if (EVP_Digest(bytes, size, reinterpret_cast<unsigned char*>(out.data()), &length, kind, nullptr) != 1)
    throw std::runtime_error("libcrypto refuses a digest");
  out.resize(length);
  return out;
}

bool is_unreserved(unsigned char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == '~';
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::int64_t> parse_time(const std::string& text, const char* format) {
  std::tm parts{};
  if (strptime(text.c_str(), format, &parts) == nullptr) return std::nullopt;
  return timegm(&parts);
}

}  // namespace

std::string percent_encode(std::string_view text, bool keep_slash) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const unsigned char c : text) {
    if (is_unreserved(c) || (keep_slash && c == '/')) {
      out += static_cast<char>(c);
    } else {
      out += {'%', kDigits[c >> 4], kDigits[c & 15]};
    }
  }
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 1 < text.size() ? digit_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? digit_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) out += {kDigits[byte >> 4], kDigits[byte & 15]};
  return out;
}

std::string sha256(std::string_view bytes) { return digest(EVP_sha256(), bytes.data(), bytes.size()); }

std::string hmac_sha256(std::string_view key, std::string_view message) {
  std::string out(32, '\0');
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(out.data()), nullptr) == nullptr)
    throw std::runtime_error("libcrypto refuses an HMAC");
  return out;
}

std::string md5_hex(const void* bytes, std::size_t size) { return to_hex(digest(EVP_md5(), bytes, size)); }

std::optional<std::int64_t> parse_iso_time(const std::string& text) {
  return parse_time(text, "%Y-%m-%dT%H:%M:%S");
}

std::optional<std::int64_t> parse_http_time(const std::string& text) {
  return parse_time(text, "%a, %d %b %Y %H:%M:%S GMT");
}

std::string without_quotes(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

}  // namespace winnow::s3
