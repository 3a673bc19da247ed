// How a name with letters beyond ASCII is written in a policy, for the sentence that refuses it.
#pragma once
#include <string>
#include <string_view>

namespace warder::policies {

/// "bücher.example" to "xn--bcher-kva.example" (RFC 3492), letters of Latin, Greek and Cyrillic
/// made small. Empty when `name` is not UTF-8, or would need more of Unicode's rules (combining
/// marks).
std::string punycodeName(std::string_view name);

}  // namespace warder::policies
