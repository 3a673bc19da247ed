// From what a job says about its secrets to what the broker is told. Pure, but for the randomness
// of placeholders.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "secrets/broker_config.h"
#include "supervisor/base/result.h"

namespace warder::secrets {

struct GrantRequest {
  std::string name;      // the job's name for the secret
  std::string provider;  // "anthropic"
  std::string base_url;  // empty: the provider's own
  std::string ca_file;   // empty: only the system's roots
};

/// Grants without descriptors, each with a fresh placeholder. The upstream is split and checked:
/// https, or http where the host is a loopback address; no user info, query or fragment.
/// Errors: Config, naming the secret.
base::Result<std::vector<Grant>> planGrants(const std::vector<GrantRequest>& requests);

/// What the agent is told as its base URL: "http://127.0.0.1:PORT".
std::string doorUrl(std::uint16_t port);

/// `prefix` and 95 random characters of base64url: as long as a real key, worth nothing outside
/// this box and this run. Source of randomness: getrandom(2).
base::Result<std::string> makePlaceholder(const std::string& prefix);

}  // namespace warder::secrets
