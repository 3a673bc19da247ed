// A secret as it is lent at one host of its provider, as things stand at the moment.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "secrets/broker_config.h"
#include "secrets/models/budget.h"
#include "secrets/models/provider.h"
#include "secrets/vault/credential.h"
#include "secrets/vault/hidden_forms.h"

namespace warder::secrets {

/// A secret in use, and what must not come back of it.
struct LentSecret {
  vault::Credential credential;
  vault::HiddenForms hidden;  // views into the credential
};

struct Lease {
  std::shared_ptr<const Grant> grant;
  std::shared_ptr<const models::Provider> provider;
  Upstream to;
  std::vector<models::Route> routes;
  /// A request keeps the one that it began with when the secret is renewed meanwhile.
  std::shared_ptr<const LentSecret> secret;
  std::shared_ptr<models::Budget> budget;  // one for all leases of a grant
  bool revoked = false;
};
using Leases = std::vector<std::shared_ptr<Lease>>;

/// One lease for each host that takes the secret, the grant's own upstream first. Errors: Config
/// for an unknown provider or a secret that is none of its kinds; Kernel. No sentence holds the
/// secret.
base::Result<Leases> makeLeases(const Grant& grant, const vault::SecretBytes& secret);

}  // namespace warder::secrets
