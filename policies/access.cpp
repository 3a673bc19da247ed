// accessTo and mayResolve: pure matching of a destination against rules.
#include <algorithm>

#include "policies/host_pattern.h"
#include "policies/policy.h"
#include "supervisor/base/fault.h"

namespace warder::policies {
namespace {

bool isWhole(const Rule& rule) {
  return rule.methods.empty() && rule.paths.empty();
}

bool matches(const Rule& rule, std::string_view host, std::uint16_t port) {
  return rule.port == port && matchesHost(rule.host, host);
}

std::string describe(std::string_view host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string_view::npos;
  const std::string shown = v6 ? "[" + std::string(host) + "]" : std::string(host);
  return base::inQuotes(shown + ":" + std::to_string(port));
}

/// The most specific rule of those that match and are `wanted`; the first of equals.
template <class Wanted>
const Rule* mostSpecific(const std::vector<const Rule*>& rules, Wanted wanted) {
  const Rule* best = nullptr;
  for (const Rule* rule : rules) {
    if (!wanted(*rule)) continue;
    if (best == nullptr || specificity(rule->host) > specificity(best->host)) best = rule;
  }
  return best;
}

/// What the allow rules that match open, before any deny rule.
Access opened(const std::vector<const Rule*>& rules) {
  Access access;
  const Rule* first = mostSpecific(rules, [](const Rule&) { return true; });
  if (first == nullptr) return access;
  access.rule = first->where;
  if (first->flow == Flow::Tcp) {
    access.tcp = true;
    return access;
  }
  access.plain_http = std::any_of(rules.begin(), rules.end(),
                                  [](const Rule* rule) { return rule->flow == Flow::Plain; });
  const Rule* tls = mostSpecific(rules, [](const Rule& rule) {
    return rule.flow == Flow::Intercept || rule.flow == Flow::Tunnel;
  });
  if (tls != nullptr) {
    access.http_over_tls = tls->flow == Flow::Intercept;
    access.tunnel = tls->flow == Flow::Tunnel;
  }
  return access;
}

Access refused(std::string_view host, std::uint16_t port, const std::string& rule,
               const std::string& why) {
  Access access;
  access.rule = rule;
  access.reason = describe(host, port) + why;
  return access;
}

std::string flowsOf(const Access& access) {
  if (access.tcp) return "any bytes are";
  std::string flows;
  const auto add = [&flows](bool open, const char* flow) {
    if (open) flows += (flows.empty() ? "" : " and ") + std::string(flow);
  };
  add(access.http_over_tls, "HTTP in TLS");
  add(access.tunnel, "a TLS tunnel");
  add(access.plain_http, "plain HTTP");
  return flows + (flows.find(" and ") == std::string::npos ? " is" : " are");
}

}  // namespace

std::string_view nameOf(Flow flow) {
  switch (flow) {
    case Flow::Intercept:
      return "intercept";
    case Flow::Plain:
      return "plain";
    case Flow::Tunnel:
      return "tunnel";
    case Flow::Tcp:
      return "tcp";
  }
  return "intercept";
}

Access accessTo(const Policy& policy, std::string_view host, std::uint16_t port) {
  if (host.empty() || canonicalHost(host) != host)
    return refused(host, port, "", " is refused: the host is not in its canonical form");
  const Rule* limited = nullptr;
  for (const Rule& rule : policy.deny) {
    if (!matches(rule, host, port)) continue;
    if (isWhole(rule)) {
      return refused(host, port, rule.where, " is denied by the rule at " + rule.where);
    }
    if (limited == nullptr) limited = &rule;
  }
  std::vector<const Rule*> allowing;
  for (const Rule& rule : policy.allow) {
    if (matches(rule, host, port)) allowing.push_back(&rule);
  }
  if (allowing.empty()) {
    const char* why = policy.allow.empty() ? " is refused: the policy allows nothing"
                                           : " is refused: no rule allows this host and port";
    return refused(host, port, "", why);
  }
  Access access = opened(allowing);
  if (limited != nullptr) access.tunnel = access.tcp = false;
  if (!access.any()) {
    return refused(host, port, limited->where,
                   " is denied: the rule at " + limited->where +
                       " denies requests, which cannot be told apart in what the rule at " +
                       access.rule + " lets through unread");
  }
  access.reason =
      describe(host, port) + ": " + flowsOf(access) + " allowed by the rule at " + access.rule;
  return access;
}

bool mayResolve(const Policy& policy, std::string_view host) {
  if (isAddress(host)) return false;
  return std::any_of(policy.allow.begin(), policy.allow.end(), [&](const Rule& rule) {
    return matchesHost(rule.host, host) && accessTo(policy, host, rule.port).any();
  });
}

}  // namespace warder::policies
