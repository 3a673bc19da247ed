// May this request go out with this grant? Pure.
#pragma once
#include <optional>
#include <string>

#include "policies/policy.h"
#include "secrets/broker_config.h"
#include "secrets/http/head.h"
#include "secrets/http/target.h"
#include "secrets/models/provider.h"

namespace warder::secrets {

/// An answer that the broker gives itself.
struct Refusal {
  int status = 403;
  std::string error_type = "permission_error";  // as the provider's own errors are typed
  std::string sentence;                         // for the model: what, and what to do
  std::string rule;                             // the policy's rule that decided, if one did
  bool retry = false;                           // may the same request succeed later?
};

struct Admission {
  const models::Route* route = nullptr;  // null when refused
  std::optional<Refusal> refusal;
};

/// All must agree: a route of the provider, the policy for what will be dialled, and the grant's
/// placeholder as the only credential (in one header or in several). `path` of the policy is the
/// one that the upstream sees.
struct AdmissionCase {
  const Grant& grant;
  const models::Provider& provider;
  const policies::Policy& policy;
  const http::RequestHead& head;
  const http::Target& target;
};
Admission admit(const AdmissionCase& request);

/// The head for the upstream, up to but without the injected line and the blank line. Gone are
/// hop-by-hop headers, every credential of the agent's, and what could make a server see another
/// method, path or header than the one decided on. Host is the upstream's, the encoding asked for
/// is identity.
std::string upstreamHead(const AdmissionCase& request);

/// "host" or "host:port", IPv6 in brackets: as Host says it.
std::string authorityOf(const Upstream& upstream);

/// The headers of an upstream's answer that go on: without hop-by-hop ones and framing.
http::HeaderFields forwardedFields(const http::HeaderFields& fields);

}  // namespace warder::secrets
