// What the broker process is told at its start. Made by init (planGrants), sent as JSON in the
// stage's configuration; descriptors are numbers in the broker's own table.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/policy.h"
#include "secrets/grant_terms.h"
#include "secrets/http/credential_kind.h"
#include "supervisor/base/event.h"
#include "supervisor/base/result.h"

namespace warder::secrets {

/// The upstream that a grant may be used at. The string that is checked is the string dialled.
struct Upstream {
  bool tls = true;
  std::string host;  // canonical name or IP literal
  std::uint16_t port = 443;
  std::string base_path;  // "" or "/prefix": put before the path the agent asked for
  std::string ca_file;    // extra PEM roots; empty: the system's
};

/// Where the broker has the secret from, and when it is asked for again.
struct GrantSource {
  /// Handed: `secret_fd` has it, and init hands over what comes later. Helper: likewise, what a
  /// program wrote. Vault: the broker asks for it, with the token that `secret_fd` has.
  enum class Kind { Handed, Helper, Vault };
  Kind kind = Kind::Handed;
  std::optional<std::chrono::milliseconds> refresh;
  // Of a Vault:
  Upstream vault;
  std::string path;  // after /v1/
  std::string field;
  std::string name_space;
};

/// One secret, lent for one upstream, through one door.
struct Grant {
  std::string name;      // the job's name for the secret
  std::string provider;  // key into provider data
  std::string placeholder;
  /// Where the agent needs a second word to sign with (AWS). Nobody checks it.
  std::string placeholder_secret;
  Upstream upstream;
  /// The provider's further hosts (models::Provider::hosts, one for one); none where the job named
  /// a base_url.
  std::vector<Upstream> also;
  /// How the job wants the secret to be carried; nothing: as the provider's data says.
  std::optional<http::CredentialKind> inject;
  GrantTerms terms;
  GrantSource source;
  int secret_fd = -1;
  std::vector<int> listener_fds;  // sockets that listen inside the agent's network namespace
  int unix_fd = -1;               // a listening Unix socket at a path in the box; -1: there is none
};

/// The ways out of the agent's network that belong to no grant: descriptor numbers, all listening
/// or bound inside that network. Empty lists where its mechanism has no such door.
struct DoorFds {
  std::vector<int> transparent;  // TCP; an accepted socket's own address is what was dialled
  std::vector<int> proxy;        // TCP; CONNECT and absolute form
  std::vector<int> dns_udp;      // bound to port 53 of every address; tells each question's address
  std::vector<int> dns_tcp;      // listens on port 53 of loopback addresses
};

struct BrokerConfig {
  std::string run_id;
  /// Others than the agent reach the doors (mechanism `advisory`): who shows no placeholder is lent
  /// nothing.
  bool shared_network = false;
  std::vector<Grant> grants;
  DoorFds doors;
  policies::Policy policy;
};

/// What a job says of how a secret is carried, or null; without extra headers, which no job can ask
/// for.
base::json::value injectToJson(const std::optional<http::CredentialKind>& inject);
std::optional<http::CredentialKind> injectFromJson(const base::json::value& value);

base::json::object toJson(const BrokerConfig& config);
BrokerConfig brokerConfigFromJson(const base::json::object& object);

/// The stage: reads its configuration, reads and locks the secrets, serves until its control
/// socket closes. Sends {"event": …} messages. Returns the process's exit code.
int brokerMain();

}  // namespace warder::secrets
