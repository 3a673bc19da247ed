#include "supervisor/courier/digest_field.h"

#include <openssl/evp.h>

namespace warder::courier {

std::string digestField(std::string_view raw) {
  unsigned char text[4 * 11 + 1];
  const int size = ::EVP_EncodeBlock(text, reinterpret_cast<const unsigned char*>(raw.data()),
                                     static_cast<int>(std::min<std::size_t>(raw.size(), 32)));
  return "sha-256=:" + std::string(reinterpret_cast<char*>(text), static_cast<std::size_t>(size)) +
         ":";
}

}  // namespace warder::courier
