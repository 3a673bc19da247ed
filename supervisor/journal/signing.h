// The journal's seals: Ed25519 with a key that lives in the scribe's memory only.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

struct evp_pkey_st;

namespace warder::journal {

/// A private key made at start; it is never written anywhere.
class SigningKey {
 public:
  /// Errors: Internal when the system gives no randomness.
  static base::Result<SigningKey> generate();
  /// The 32 bytes of the public key in base64.
  std::string publicKey() const;
  /// The 64 bytes of the signature in base64. Errors: Internal.
  base::Result<std::string> sign(std::string_view message) const;

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const;
  };
  explicit SigningKey(evp_pkey_st* key) : key_(key) {}
  std::unique_ptr<evp_pkey_st, Free> key_;
};

/// True when `signature` (base64) over `message` was made by the owner of `public_key` (base64).
bool signatureHolds(std::string_view public_key, std::string_view message,
                    std::string_view signature);

}  // namespace warder::journal
