#include "supervisor/job/certificates.h"

#include <cstdint>
#include <optional>
#include <string>

namespace warder::job {
namespace {

constexpr std::string_view kLabels[] = {"CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"};

std::optional<std::string> decodedBase64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::size_t value = kDigits.find(c);
    if (value == std::string_view::npos || padding > 0) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    // Of each four digits, all but the first complete a byte.
    if (++digits % 4 != 1) {
      bytes += static_cast<char>(bits >> (6 - 2 * ((digits - 1) % 4)));
    }
  }
  if ((digits + padding) % 4 != 0 || padding > 2) return std::nullopt;
  return bytes;
}

/// A SEQUENCE whose length (X.690 section 8.1.3) fits the bytes; trust settings may follow it.
bool isSequence(std::string_view der) {
  constexpr unsigned char kSequence = 0x30;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(der[at]); };
  if (der.size() < 4 || byte(0) != kSequence) return false;
  if (byte(1) < 0x80) return byte(1) > 0 && byte(1) + 2U <= der.size();
  const std::size_t count = byte(1) & 0x7F;
  if (count == 0 || count > 3 || der.size() < 2 + count) return false;
  std::size_t length = 0;
  for (std::size_t i = 0; i < count; ++i) length = length << 8 | byte(2 + i);
  return length > 0 && length <= der.size() - 2 - count;
}

}  // namespace

bool holdsCertificates(std::string_view pem) {
  bool found = false;
  for (const std::string_view label : kLabels) {
    const std::string begin = "-----BEGIN " + std::string(label) + "-----";
    const std::string end = "-----END " + std::string(label) + "-----";
    for (std::size_t at = pem.find(begin); at != std::string_view::npos; at = pem.find(begin, at)) {
      at += begin.size();
      const std::size_t stop = pem.find(end, at);
      if (stop == std::string_view::npos) return false;
      const auto der = decodedBase64(pem.substr(at, stop - at));
      if (!der || !isSequence(*der)) return false;
      found = true;
      at = stop;
    }
  }
  return found;
}

}  // namespace warder::job
