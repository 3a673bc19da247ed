// Files with further roots for TLS.
#pragma once
#include <string_view>

namespace warder::job {

/// Does this PEM text (RFC 7468) hold at least one certificate, and is each certificate's block
/// whole: base64 of one DER sequence? What the sequence says is left to TLS. Pure.
bool holdsCertificates(std::string_view pem);

}  // namespace warder::job
