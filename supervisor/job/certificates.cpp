#include "supervisor/job/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace warder::job {

bool holdsCertificates(std::string_view pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> source(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  STACK_OF(X509_INFO)* blocks = PEM_X509_INFO_read_bio(source.get(), nullptr, nullptr, nullptr);
  ERR_clear_error();
  if (blocks == nullptr) return false;
  bool found = false;
  for (int i = 0; i < sk_X509_INFO_num(blocks); ++i) {
    if (sk_X509_INFO_value(blocks, i)->x509 != nullptr) found = true;
  }
  sk_X509_INFO_pop_free(blocks, X509_INFO_free);
  return found;
}

}  // namespace warder::job
