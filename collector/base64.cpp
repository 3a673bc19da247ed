#include "collector/base64.h"

#include <openssl/evp.h>

#include <algorithm>

namespace warder::collector {

std::string toBase64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3), '\0');
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
  return text;
}

std::optional<std::string> fromBase64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || text.size() > 64 * 1024) return std::nullopt;
  std::string decoded(text.size() / 4 * 3, '\0');
  const int size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  const std::size_t padding = text.size() - std::min(text.find('='), text.size());
  if (size < 0 || padding > 2) return std::nullopt;
  decoded.resize(static_cast<std::size_t>(size) - padding);
  // EVP_DecodeBlock forgives white space and stray bits.
  if (toBase64(decoded) != text) return std::nullopt;
  return decoded;
}

std::string digestField(std::string_view raw) {
  return "sha-256=:" + toBase64(raw) + ":";
}

}  // namespace warder::collector
