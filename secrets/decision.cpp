#include "secrets/decision.h"

#include <algorithm>
#include <boost/url/parse.hpp>

#include "secrets/carriers.h"
#include "secrets/host_field.h"

namespace warder::secrets {

namespace {

Refusal refuse(std::string why, std::string sentence) {
  Refusal refusal;
  refusal.why = std::move(why);
  refusal.sentence = std::move(sentence);
  return refusal;
}

/// What the secret is lent for, for people.
std::string routesOf(const Lease& lease) {
  std::string text;
  for (const AllowTerm& allow : lease.grant->terms.allow)
    for (const std::string& path : allow.paths) {
      text += text.empty() ? "" : ", ";
      for (const std::string& method : allow.methods) text += method + " ";
      text += path;
    }
  if (!text.empty()) return text;
  for (const models::Route& route : lease.routes)
    text += (text.empty() ? "" : ", ") + route.method + " " + route.path;
  return text;
}

std::uint16_t usualPort(const Upstream& to) {
  return to.tls ? 443 : 80;
}

/// The name that was dialled and the name that is asked for must be one: a server that serves many
/// names would otherwise answer for another one than was decided on.
std::optional<Refusal> judgeHost(const Asked& asked) {
  const std::string* field = http::findField(asked.head.fields, "host");
  const std::string text = field != nullptr ? *field : "";
  if (asked.door) {
    // A page in a browser of the agent's shall not reach this door by a name of its own.
    const auto host = readHostAndPort(text, 0);
    if (host && (isLoopbackHost(host->host) || host->host == asked.to.host)) return std::nullopt;
  } else {
    const auto host = readHostAndPort(text, usualPort(asked.to));
    if (host && host->host == asked.to.host && host->port == asked.to.port) return std::nullopt;
  }
  Refusal refusal = refuse("host_mismatch", "the Host header must name " + authorityOf(asked.to) +
                                                ", which this connection was made to; open a "
                                                "connection of its own for another host");
  refusal.status = 421;
  refusal.error_type = "invalid_request_error";
  return refusal;
}

policies::Carrier carrierOf(const Asked& asked) {
  if (asked.door) return policies::Carrier::BaseUrl;
  return asked.to.tls ? policies::Carrier::Tls : policies::Carrier::Plain;
}

std::optional<Refusal> judgePolicy(const Asked& asked, const std::string& path) {
  const policies::Decision decision =
      policies::decide(asked.rules.policy,
                       {asked.to.host, asked.to.port, asked.head.method, path, carrierOf(asked)});
  if (decision.allowed) return std::nullopt;
  Refusal refusal =
      refuse("policy", "Warder's policy does not allow this request: " + decision.reason +
                           ". Do not try again; ask whoever wrote the job to allow it");
  refusal.rule = decision.rule;
  return refusal;
}

/// Does an allow rule name exactly this path at exactly this host? Only that opens an endpoint
/// which hands out credentials; no pattern does by accident.
bool namesPath(const policies::Policy& policy, const Upstream& to, const std::string& path) {
  return std::any_of(policy.allow.begin(), policy.allow.end(), [&](const policies::Rule& rule) {
    return rule.host == to.host && rule.port == to.port &&
           std::find(rule.paths.begin(), rule.paths.end(), path) != rule.paths.end();
  });
}

/// A provider behind another host (a gateway) has the same endpoints.
bool handsOutCredentials(const Asked& asked) {
  const std::string& method = asked.head.method;
  for (const models::Provider& provider : asked.rules.providers) {
    if (models::credentialEndpoint(provider.denied, asked.to.host, method, asked.target.path))
      return true;
  }
  if (!asked.door) return false;
  const models::Provider& provider = *asked.door->provider;
  const auto own = boost::urls::parse_uri(provider.base_url);
  return own && models::credentialEndpoint(provider.denied, std::string(own->host()), method,
                                           asked.target.path);
}

std::optional<Refusal> judgeEndpoint(const Asked& asked, const std::string& path) {
  if (!handsOutCredentials(asked) || namesPath(asked.rules.policy, asked.to, path))
    return std::nullopt;
  return refuse("credential_endpoint",
                "this endpoint of " + asked.to.host +
                    " hands out or manages credentials, and only a policy rule that names exactly "
                    "this path opens it");
}

bool isLentAt(const Lease& lease, const Upstream& to) {
  return lease.to.host == to.host && lease.to.port == to.port && lease.to.tls == to.tls;
}

/// The path as the provider's routes name it, without the prefix of the lease's own upstream.
std::optional<std::string_view> pathWithin(const Lease& lease, std::string_view path) {
  const std::string& base = lease.to.base_path;
  if (!path.starts_with(base)) return std::nullopt;
  path.remove_prefix(base.size());
  if (!path.starts_with('/')) return std::nullopt;
  return path;
}

/// One of the provider's requests, and one that the job lets through.
models::Routed routeWithin(const Lease& lease, const std::string& method, std::string_view path) {
  models::Routed routed = models::routeOf(lease.routes, method, path);
  if (routed.route == nullptr || allows(lease.grant->terms, method, path)) return routed;
  models::Routed withheld;
  withheld.known_path = true;
  return withheld;
}

void takeRoute(Verdict& verdict, std::shared_ptr<Lease> lease, models::Routed routed) {
  verdict.lease = std::move(lease);
  verdict.route = *routed.route;
  verdict.model = std::move(routed.model);
}

/// At a door of its own a lease serves its routes and nothing else.
std::optional<Refusal> judgeDoorRoute(const Asked& asked, Verdict& verdict) {
  models::Routed routed = routeWithin(*asked.door, asked.head.method, asked.target.path);
  verdict.base_path = asked.to.base_path;
  if (routed.route != nullptr) {
    takeRoute(verdict, asked.door, std::move(routed));
    return std::nullopt;
  }
  Refusal refusal = refuse("route", "Warder's broker passes on only " + routesOf(*asked.door) +
                                        " here; this request was not sent");
  if (!routed.known_path) {
    refusal.status = 404;
    refusal.error_type = "not_found_error";
  }
  return refusal;
}

/// Which lease a request to a named host is for: the one whose placeholder it shows, else the only
/// one (a program need not know that there is a key).
std::optional<Refusal> findLease(const Asked& asked, Verdict& verdict) {
  bool shown_outside_routes = false;
  bool chosen_shown = false;
  std::size_t fitting = 0;
  for (const auto& lease : asked.rules.leases) {
    if (!isLentAt(*lease, asked.to)) continue;
    const auto path = pathWithin(*lease, asked.target.path);
    models::Routed routed = path ? routeWithin(*lease, asked.head.method, *path) : models::Routed{};
    const bool shown = showsPlaceholder(*lease, asked.head, asked.target);
    if (routed.route == nullptr) {
      shown_outside_routes = shown_outside_routes || shown;
      continue;
    }
    ++fitting;
    if (verdict.lease && (!shown || chosen_shown)) continue;
    chosen_shown = shown;
    takeRoute(verdict, lease, std::move(routed));
  }
  if (fitting == 0 && shown_outside_routes)
    return refuse("route", "the credential of this run is lent only for certain requests, and " +
                               asked.head.method + " of this path is none of them");
  if (fitting > 1 && !chosen_shown)
    return refuse("credential",
                  "several secrets are lent for this request; send the value of the "
                  "one that is meant as the credential");
  return std::nullopt;
}

std::optional<Refusal> judgeLease(const Lease& lease) {
  if (!lease.revoked) return std::nullopt;
  if (lease.expired)
    return refuse("expired", "the secret \"" + lease.grant->name +
                                 "\" was lent for a time that is over (expires); whoever wrote the "
                                 "job can give the next run a longer one");
  return refuse("revoked", "the secret \"" + lease.grant->name +
                               "\" is lent no longer; the run is over for it");
}

std::optional<Refusal> judgeCredential(const Asked& asked, Verdict& verdict) {
  const auto lent_here = [&](const std::string& grant) {
    return std::any_of(asked.rules.leases.begin(), asked.rules.leases.end(), [&](const auto& one) {
      return one->grant->name == grant && isLentAt(*one, asked.to);
    });
  };
  const auto elsewhere = [&](const std::shared_ptr<Lease>& lease) {
    return mentionsPlaceholder(*lease, asked.head, asked.target) && !lent_here(lease->grant->name);
  };
  const auto found = std::find_if(asked.rules.leases.begin(), asked.rules.leases.end(), elsewhere);
  if (found != asked.rules.leases.end()) {
    verdict.incident = (*found)->grant->name;
    return refuse("placeholder_elsewhere", "this request carries the credential of secret \"" +
                                               verdict.incident + "\", which is worth nothing at " +
                                               authorityOf(asked.to) +
                                               "; the attempt was reported");
  }
  if (!verdict.lease) return std::nullopt;
  verdict.foreign_credential = hasForeignCredential(*verdict.lease, asked.head, asked.target);
  if (!asked.rules.shared_network || showsPlaceholder(*verdict.lease, asked.head, asked.target))
    return std::nullopt;
  return refuse("credential",
                "the credential is not the one that Warder gave to this run; send the value of the "
                "environment's API key variable, as the provider's own clients send a key");
}

}  // namespace

std::string authorityOf(const Upstream& upstream) {
  const bool literal6 = upstream.host.find(':') != std::string::npos;
  const std::string host = literal6 ? "[" + upstream.host + "]" : upstream.host;
  return upstream.port == usualPort(upstream) ? host : host + ":" + std::to_string(upstream.port);
}

Verdict decide(const Asked& asked) {
  Verdict verdict;
  const auto refused = [&verdict](std::optional<Refusal> refusal) {
    if (!refusal) return false;
    verdict.refusal = std::move(refusal);
    verdict.lease = nullptr;
    return true;
  };
  if (refused(judgeHost(asked))) return verdict;
  if (asked.door && refused(judgeDoorRoute(asked, verdict))) return verdict;
  const std::string path = verdict.base_path + asked.target.path;
  if (refused(judgePolicy(asked, path)) || refused(judgeEndpoint(asked, path))) return verdict;
  if (!asked.door && refused(findLease(asked, verdict))) return verdict;
  if (refused(judgeCredential(asked, verdict)) || !verdict.lease) return verdict;
  refused(judgeLease(*verdict.lease));
  return verdict;
}

}  // namespace warder::secrets
