// A secret as it is lent at one host of its provider, as things stand at the moment.
#pragma once
#include <functional>
#include <list>
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
  using Cuts = std::list<std::function<void()>>;

  std::shared_ptr<const Grant> grant;
  std::shared_ptr<const models::Provider> provider;
  Upstream to;
  std::vector<models::Route> routes;
  /// A request keeps the one that it began with when the secret is renewed meanwhile.
  std::shared_ptr<const LentSecret> secret;
  std::shared_ptr<models::Budget> budget;  // one for all leases of a grant
  bool revoked = false;
  bool expired = false;  // why it was revoked
  Cuts cuts;             // what ends each call that is under way (OpenCall)
};
using Leases = std::vector<std::shared_ptr<Lease>>;

/// One lease for each host that takes the secret, the grant's own upstream first. Errors: Config
/// for an unknown provider or a secret that is none of its kinds; Kernel. No sentence holds the
/// secret.
base::Result<Leases> makeLeases(const Grant& grant, const vault::SecretBytes& secret);

/// Takes the secret back, and ends the calls that are under way with it; how many there were.
std::size_t revoke(Lease& lease);

/// A call under way with a lent secret, so that it can be ended when the secret is taken back.
class OpenCall {
 public:
  OpenCall() = default;
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;
  ~OpenCall();

  /// `cut` is called at most once, and never after this is destroyed.
  void begin(std::shared_ptr<Lease> lease, std::function<void()> cut);

 private:
  std::shared_ptr<Lease> lease_;
  Lease::Cuts::iterator place_;
};

}  // namespace warder::secrets
