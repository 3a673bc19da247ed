// Files with further roots for TLS.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warder::job {

/// The DER form of each certificate of a PEM text (RFC 7468), in no certain order, without the
/// trust settings that may follow one. Nothing when a block is not whole: base64 of one DER
/// sequence. What the sequence says is left to TLS. Pure.
std::optional<std::vector<std::string>> certificatesOf(std::string_view pem);

/// Does this PEM text hold at least one certificate, and is each one whole? Pure.
bool holdsCertificates(std::string_view pem);

}  // namespace warder::job
