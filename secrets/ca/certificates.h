// How the run's certificates are written: X.509 in the form that the strictest clients ask for.
#pragma once
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>
#include <string>

#include "supervisor/base/result.h"

namespace warder::ca {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Certificate = std::unique_ptr<X509, FreeCertificate>;

struct Validity {
  std::time_t from = 0;
  std::time_t until = 0;
};

/// Whose certificate a leaf is signed with.
struct Issuer {
  X509* certificate = nullptr;
  EVP_PKEY* key = nullptr;
};

/// A new P-256 key; its private half is wiped when it is freed. Null when OpenSSL cannot.
Key makeKey();

/// Signs itself. Errors: Internal with OpenSSL's reason.
base::Result<Certificate> makeAuthority(EVP_PKEY* key, const std::string& name, Validity validity);

/// `host` as the only subjectAltName: an IP address where it is one, otherwise a DNS name.
/// Errors: Config for a host that is neither; Internal.
base::Result<Certificate> makeLeaf(EVP_PKEY* key, const std::string& host, Validity validity,
                                   Issuer issuer);

/// Errors: Internal.
base::Result<std::string> toPem(X509* certificate);

/// The reason that OpenSSL gave last, after `doing`.
base::Error tlsError(const std::string& doing);

}  // namespace warder::ca
