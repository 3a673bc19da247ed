// Names below which anybody can register one: the Public Suffix List, compiled in.
#pragma once
#include <string_view>

namespace warder::policies {

/// Public: of the domain name system itself (com, co.uk). Shared: a company's, below which it gives
/// names or storage to its customers (github.io, s3.amazonaws.com).
enum class Suffix { None, Public, Shared };

/// `name` is canonical, not an address. A single label that the list does not know (internal,
/// local) is None: it is a private domain. Source: Debian's package publicsuffix, as of the build.
Suffix suffixKind(std::string_view name);

}  // namespace warder::policies
