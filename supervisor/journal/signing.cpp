#include "supervisor/journal/signing.h"

#include <openssl/evp.h>

#include <optional>
#include <vector>

namespace warder::journal {

namespace {

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* bytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string toBase64(std::string_view bytes) {
  std::vector<unsigned char> text(4 * ((bytes.size() + 2) / 3) + 1);
  const int length = EVP_EncodeBlock(text.data(), bytesOf(bytes), static_cast<int>(bytes.size()));
  return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length)};
}

/// Exactly `size` bytes, or nothing.
std::optional<std::string> fromBase64(std::string_view text, std::size_t size) {
  if (text.size() != 4 * ((size + 2) / 3)) return std::nullopt;
  std::string bytes(3 * text.size() / 4, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), bytesOf(text),
                                     static_cast<int>(text.size()));
  if (length < 0 || static_cast<std::size_t>(length) < size) return std::nullopt;
  bytes.resize(size);
  if (toBase64(bytes) != text) return std::nullopt;  // one text form for each value
  return bytes;
}

constexpr std::size_t kPublicKeySize = 32;
constexpr std::size_t kSignatureSize = 64;

}  // namespace

void SigningKey::Free::operator()(evp_pkey_st* key) const {
  EVP_PKEY_free(key);
}

base::Result<SigningKey> SigningKey::generate() {
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  if (key == nullptr)
    return base::Error{base::Kind::Internal, "cannot make the journal's signing key"};
  return SigningKey(key);
}

std::string SigningKey::publicKey() const {
  unsigned char raw[kPublicKeySize];
  std::size_t length = sizeof raw;
  EVP_PKEY_get_raw_public_key(key_.get(), raw, &length);
  return toBase64({reinterpret_cast<const char*>(raw), length});
}

base::Result<std::string> SigningKey::sign(std::string_view message) const {
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  unsigned char signature[kSignatureSize];
  std::size_t length = sizeof signature;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), signature, &length, bytesOf(message), message.size()) != 1)
    return base::Error{base::Kind::Internal, "cannot sign the journal"};
  return toBase64({reinterpret_cast<const char*>(signature), length});
}

bool signatureHolds(std::string_view public_key, std::string_view message,
                    std::string_view signature) {
  const auto key_bytes = fromBase64(public_key, kPublicKeySize);
  const auto signature_bytes = fromBase64(signature, kSignatureSize);
  if (!key_bytes || !signature_bytes) return false;
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytesOf(*key_bytes),
                                  key_bytes->size()),
      &EVP_PKEY_free);
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  return key && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytesOf(*signature_bytes), signature_bytes->size(),
                          bytesOf(message), message.size()) == 1;
}

}  // namespace warder::journal
