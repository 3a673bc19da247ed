#include "supervisor/launch/trust_java.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace warder::launch {

namespace {

constexpr std::string_view kPassword = "changeit";

std::string number(std::uint64_t value, int width) {
  std::string bytes;
  for (int shift = 8 * (width - 1); shift >= 0; shift -= 8)
    bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

/// DataOutput.writeUTF of plain ASCII.
std::string utf(std::string_view text) {
  return number(text.size(), 2) + std::string(text);
}

/// SHA-1 over the password in UTF-16, a constant of the format's authors, and the content.
std::string seal(std::string_view content) {
  std::string text;
  for (const char c : kPassword) (text += '\0') += c;
  text += "Mighty Aphrodite";
  text += content;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr);
  return std::string(reinterpret_cast<const char*>(digest.data()), length);
}

}  // namespace

std::string javaTrustStore(const std::vector<std::string>& certificates) {
  constexpr std::uint64_t kMagic = 0xFEEDFEED, kVersion = 2, kTrustedCertificate = 2;
  std::string store = number(kMagic, 4) + number(kVersion, 4) + number(certificates.size(), 4);
  std::size_t count = 0;
  for (const auto& certificate : certificates) {
    store += number(kTrustedCertificate, 4) + utf("root-" + std::to_string(++count));
    store += number(0, 8);  // when it was added, which nobody asks
    store += utf("X.509") + number(certificate.size(), 4) + certificate;
  }
  return store + seal(store);
}

}  // namespace warder::launch
