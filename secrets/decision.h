// May this request go out, and with whose secret? One decision for all doors. Pure.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "policies/policy.h"
#include "secrets/http/head.h"
#include "secrets/http/target.h"
#include "secrets/lease.h"
#include "secrets/refusal.h"

namespace warder::secrets {

/// What decisions go by for the whole run.
struct Rules {
  policies::Policy policy;
  Leases leases;
  std::vector<models::Provider> providers;  // all that are known, lent to or not
  /// Others than the agent reach our doors: a secret is lent only to who shows a placeholder.
  bool shared_network = false;
};

/// Everything that a decision depends on.
struct Asked {
  const Rules& rules;
  /// The lease whose base-URL door it came through; null at the doors where the agent names hosts.
  std::shared_ptr<Lease> door;
  /// Whom we would dial. At a base-URL door the lease's upstream.
  const Upstream& to;
  const http::RequestHead& head;
  const http::Target& target;
};

struct Verdict {
  std::optional<Refusal> refusal;
  std::shared_ptr<Lease> lease;  // whose secret is injected; null: the request goes as it is
  models::Route route;           // of the lease
  std::string model;             // where the path names it
  std::string base_path;         // put before the path that the agent asked for
  /// A placeholder on its way to where it is worth nothing: somebody is trying to give it away.
  std::string incident;  // the grant's name; empty: none
  /// The agent sent a credential of its own where a secret is lent: it was taken out.
  bool foreign_credential = false;
};

/// All must agree, for each request of a connection: the Host header and who would be dialled; the
/// policy, for host, port, method and the path that the upstream sees; and where a secret is lent,
/// a route of its provider. A placeholder anywhere in head or target of a request to where it is
/// not lent refuses the request. What stands in a body is inert.
Verdict decide(const Asked& asked);

/// "host" or "host:port", IPv6 in brackets: as Host says it.
std::string authorityOf(const Upstream& upstream);

/// The headers of an upstream's answer that go on: without hop-by-hop ones and framing.
http::HeaderFields forwardedFields(const http::HeaderFields& fields);

}  // namespace warder::secrets
