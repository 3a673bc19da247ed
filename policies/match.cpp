// decide and namesHost: pure matching of a request against rules.
#include <algorithm>

#include "policies/host_pattern.h"
#include "policies/path_glob.h"
#include "policies/policy.h"
#include "supervisor/base/fault.h"

namespace warder::policies {
namespace {

bool matchesDestination(const Rule& rule, const Request& request) {
  return rule.port == request.port && matchesHost(rule.host, request.host);
}

bool matches(const Rule& rule, const Request& request) {
  if (!matchesDestination(rule, request)) return false;
  const auto& methods = rule.methods;
  if (!methods.empty() &&
      std::find(methods.begin(), methods.end(), request.method) == methods.end()) {
    return false;
  }
  return rule.paths.empty() ||
         std::any_of(rule.paths.begin(), rule.paths.end(), [&](const std::string& pattern) {
           return matchesPath(pattern, request.path);
         });
}

const Rule* firstMatch(const std::vector<Rule>& rules, const Request& request) {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const Rule& rule) { return matches(rule, request); });
  return found == rules.end() ? nullptr : &*found;
}

/// Is the rule about HTTP as this request came?
bool carries(const Rule& rule, Carrier carrier) {
  switch (carrier) {
    case Carrier::BaseUrl:
      return rule.flow == Flow::Intercept || rule.flow == Flow::Plain;
    case Carrier::Tls:
      return rule.flow == Flow::Intercept;
    case Carrier::Plain:
      return rule.flow == Flow::Plain;
  }
  return false;
}

const Rule* firstAllowing(const std::vector<Rule>& rules, const Request& request) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) {
    return carries(rule, request.carrier) && matches(rule, request);
  });
  return found == rules.end() ? nullptr : &*found;
}

/// "POST api.example.org:443/v1/x" for a sentence; the agent chose these bytes.
std::string describe(const Request& request) {
  const std::string text =
      request.method + " " + request.host + ":" + std::to_string(request.port) + request.path;
  return base::inQuotes(text);
}

std::string whyNot(const Policy& policy, const Request& request) {
  if (policy.allow.empty()) return "the policy allows nothing";
  const bool known = std::any_of(policy.allow.begin(), policy.allow.end(), [&](const Rule& rule) {
    return carries(rule, request.carrier) && matchesDestination(rule, request);
  });
  const bool otherwise =
      !known && std::any_of(policy.allow.begin(), policy.allow.end(),
                            [&](const Rule& rule) { return matchesDestination(rule, request); });
  if (otherwise) return "the rules for this host and port allow no HTTP that came this way";
  return known ? "no rule for this host and port allows this method and path"
               : "no rule allows this host and port";
}

}  // namespace

Decision decide(const Policy& policy, const Request& request) {
  Decision decision;
  if (request.host.empty() || canonicalHost(request.host) != request.host) {
    decision.reason = describe(request) + " is refused: the host is not in its canonical form";
    return decision;
  }
  if (!isPlainPath(request.path)) {
    decision.reason = describe(request) + " is refused: the path is not in its plain form";
    return decision;
  }
  if (const Rule* rule = firstMatch(policy.deny, request)) {
    decision.rule = rule->where;
    decision.reason = describe(request) + " is denied by the rule at " + rule->where;
    return decision;
  }
  if (const Rule* rule = firstAllowing(policy.allow, request)) {
    decision.allowed = true;
    decision.rule = rule->where;
    decision.reason = describe(request) + " is allowed by the rule at " + rule->where;
    return decision;
  }
  decision.reason = describe(request) + " is refused: " + whyNot(policy, request);
  return decision;
}

bool namesHost(const Policy& policy, std::string_view host, std::uint16_t port) {
  return std::any_of(policy.allow.begin(), policy.allow.end(),
                     [&](const Rule& rule) { return rule.port == port && rule.host == host; });
}

}  // namespace warder::policies
