// Base64 and the digest fields of HTTP that use it.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace warder::collector {

/// Standard base64 with padding.
std::string toBase64(std::string_view bytes);
/// nullopt on anything but the canonical spelling.
std::optional<std::string> fromBase64(std::string_view text);

/// "sha-256=:BASE64:" of 32 raw bytes, the value of Content-Digest and Repr-Digest.
/// Source: RFC 9530 section 2.
std::string digestField(std::string_view raw);

}  // namespace warder::collector
