#include "secrets/body_digest.h"

#include <array>

namespace warder::secrets {

BodyDigest::BodyDigest() : context_(EVP_MD_CTX_new()) {
  good_ = context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
}

void BodyDigest::add(std::string_view bytes) {
  good_ = good_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
}

std::string BodyDigest::hex() {
  std::array<unsigned char, 32> digest;
  unsigned size = 0;
  good_ = good_ && EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1;
  if (!good_) return {};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace warder::secrets
