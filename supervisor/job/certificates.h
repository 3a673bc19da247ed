// Files with further roots for TLS.
#pragma once
#include <string_view>

namespace warder::job {

/// Does this PEM text hold a certificate, and can all of its blocks be parsed? Reads what OpenSSL's
/// own loader of such files reads (X509_load_cert_crl_file(3)).
bool holdsCertificates(std::string_view pem);

}  // namespace warder::job
