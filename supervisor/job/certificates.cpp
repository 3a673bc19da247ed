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

/// Bytes of the SEQUENCE that `der` begins with (X.690 section 8.1.3), 0 when it begins with none
/// that fits; trust settings may follow it.
std::size_t sequenceSize(std::string_view der) {
  constexpr unsigned char kSequence = 0x30;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(der[at]); };
  if (der.size() < 4 || byte(0) != kSequence) return 0;
  if (byte(1) < 0x80) return byte(1) > 0 && byte(1) + 2U <= der.size() ? byte(1) + 2U : 0;
  const std::size_t count = byte(1) & 0x7F;
  if (count == 0 || count > 3 || der.size() < 2 + count) return 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i < count; ++i) length = length << 8 | byte(2 + i);
  return length > 0 && length <= der.size() - 2 - count ? 2 + count + length : 0;
}

}  // namespace

std::optional<std::vector<std::string>> certificatesOf(std::string_view pem) {
  std::vector<std::string> found;
  for (const std::string_view label : kLabels) {
    const std::string begin = "-----BEGIN " + std::string(label) + "-----";
    const std::string end = "-----END " + std::string(label) + "-----";
    for (std::size_t at = pem.find(begin); at != std::string_view::npos; at = pem.find(begin, at)) {
      at += begin.size();
      const std::size_t stop = pem.find(end, at);
      if (stop == std::string_view::npos) return std::nullopt;
      const auto der = decodedBase64(pem.substr(at, stop - at));
      const std::size_t size = der ? sequenceSize(*der) : 0;
      if (size == 0) return std::nullopt;
      found.push_back(der->substr(0, size));
      at = stop;
    }
  }
  return found;
}

bool holdsCertificates(std::string_view pem) {
  const auto found = certificatesOf(pem);
  return found && !found->empty();
}

}  // namespace warder::job
