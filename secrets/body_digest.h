// SHA-256 of a body that streams by.
#pragma once
#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace warder::secrets {

class BodyDigest {
 public:
  BodyDigest();
  void add(std::string_view bytes);
  /// In lower-case hex; empty when OpenSSL failed on the way. Once.
  std::string hex();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
  bool good_ = false;
};

}  // namespace warder::secrets
