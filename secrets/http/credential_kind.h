// How a request can carry a credential. Plain data: provider data and jobs say it, the vault makes
// the credential.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warder::http {

/// A header that goes with a credential and is no secret.
struct FixedHeader {
  std::string name;  // lower case
  std::string value;
  /// true: one more element of the agent's own comma-separated value (once), so that there is one
  /// field; false: it takes the place of the agent's.
  bool joins = false;
  friend bool operator==(const FixedHeader&, const FixedHeader&) = default;
};

struct CredentialKind {
  /// Header: NAME: SECRET. Bearer, Basic: Authorization. Query: NAME=SECRET. SigV4: signed by AWS's
  /// Signature Version 4.
  enum class Kind { Header, Bearer, Basic, Query, SigV4 };
  Kind kind = Kind::Header;
  std::string name;     // Header: in lower case; Query: the parameter
  std::string user;     // Basic: the secret is the password; empty: the secret is USER:PASSWORD
  std::string region;   // SigV4; empty: the host says it (SERVICE.REGION.amazonaws.com)
  std::string service;  // SigV4: as AWS's signatures name it, "bedrock"
  std::vector<FixedHeader> extra;
  friend bool operator==(const CredentialKind&, const CredentialKind&) = default;
};

/// "header", "bearer", "basic", "query", "sigv4", as YAML files write it.
std::string_view nameOf(CredentialKind::Kind kind);
std::optional<CredentialKind::Kind> credentialKindNamed(std::string_view name);

/// Why this can be no kind of credential: the name of a header or parameter that is none, a user
/// with a colon. Empty when it is fine. "must be …", to go after what names it.
std::string whyNoKind(const CredentialKind& kind);

}  // namespace warder::http
