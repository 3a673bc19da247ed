// The digest fields of HTTP.
#pragma once
#include <string>
#include <string_view>

namespace warder::courier {

/// "sha-256=:BASE64:" of 32 raw bytes. Source: RFC 9530 section 2.
std::string digestField(std::string_view raw);

}  // namespace warder::courier
