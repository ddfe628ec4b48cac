#include "tests/support/origin/digests.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cctype>
#include <cstdlib>

namespace origin {

namespace {

std::string digest(const EVP_MD* kind, std::string_view bytes) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &length, kind,
             nullptr);
  out.resize(length);
  return out;
}

std::string formatted(const char* format, std::time_t when) {
  std::tm parts{};
  gmtime_r(&when, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace

std::string md5(std::string_view bytes) { return digest(EVP_md5(), bytes); }
std::string sha256(std::string_view bytes) { return digest(EVP_sha256(), bytes); }

std::string hmac_sha256(std::string_view key, std::string_view message) {
  std::string out(32, '\0');
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
       reinterpret_cast<unsigned char*>(out.data()), nullptr);
  return out;
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string url_encode(std::string_view text, bool keep_slash) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char c : text) {
    const bool plain = (c < 128 && std::isalnum(c) != 0) || c == '-' || c == '_' || c == '.' || c == '~';
    if (plain || (keep_slash && c == '/')) {
      out += static_cast<char>(c);
    } else {
      out += '%';
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
    }
  }
  return out;
}

std::string url_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string xml_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string http_date(std::time_t when) { return formatted("%a, %d %b %Y %H:%M:%S GMT", when); }
std::string iso_date(std::time_t when) { return formatted("%Y-%m-%dT%H:%M:%S.000Z", when); }

}  // namespace origin
