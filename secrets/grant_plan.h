// From what a job says about its secrets to what the broker is told. Pure, but for the randomness
// of placeholders.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "secrets/broker_config.h"
#include "secrets/http/credential_kind.h"
#include "secrets/models/provider.h"
#include "supervisor/base/result.h"

namespace warder::secrets {

struct GrantRequest {
  std::string name;      // the job's name for the secret
  std::string provider;  // "anthropic"
  std::string base_url;  // empty: the provider's own
  std::string ca_file;   // empty: only the system's roots
  /// How the secret is carried, where the job says it; needed for providers without kinds of their
  /// own ("generic"), for the others it takes the place of theirs.
  std::optional<http::CredentialKind> inject = std::nullopt;
  GrantTerms terms = {};
  GrantSource source = {};  // but for the upstream of a Vault:
  std::string vault_url{};  // its address
  std::string vault_ca_file{};
};

/// Grants without descriptors, each with a fresh placeholder. The upstream is split and checked:
/// https, or http where the host is a loopback address; no user info, query or fragment. Terms that
/// could not be held at this provider are refused. Errors: Config, naming the secret.
base::Result<std::vector<Grant>> planGrants(const std::vector<GrantRequest>& requests);

/// What the agent is told as its base URL: "http://127.0.0.1:PORT".
std::string doorUrl(std::uint16_t port);

/// Shaped like the provider's keys, worth nothing outside this box and this run. Source of
/// randomness: getrandom(2). Errors: Kernel.
base::Result<std::string> makePlaceholder(const models::PlaceholderShape& shape);

/// How the broker carries this secret at one host of the provider: what the job says, else the kind
/// that the secret's beginning tells. `kinds` are the host's. Errors: Config when it is no secret
/// to lend, or nobody says how it is carried; the sentence never holds the content.
base::Result<http::CredentialKind> carriageOf(const Grant& grant,
                                              const std::vector<models::SecretKind>& kinds,
                                              std::string_view secret);

}  // namespace warder::secrets
