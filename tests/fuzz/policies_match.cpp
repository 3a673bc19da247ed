// Hostile hosts, methods and paths against rules, and hostile bytes as a policy file.
#include <cstdlib>

#include "policies/explain.h"
#include "policies/policy_json.h"
#include "policies/policy_reader.h"

namespace {

std::string_view takeLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

/// Three lines (host, method, path), then a policy file.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace warder::policies;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string host(takeLine(text));
  const std::string canonical = canonicalHost(host);
  if (!canonical.empty() && canonicalHost(canonical) != canonical) std::abort();
  Request request{canonical, 443, std::string(takeLine(text)), std::string(takeLine(text))};

  if (decide({}, request).allowed) std::abort();
  const PolicyReading reading = readPolicyText(text, "p.yaml", "p");
  const Decision decision = decide(reading.policy, request);
  if (decision.allowed && (decision.rule.empty() || reading.policy.allow.empty())) std::abort();
  explain(reading.policy);
  const Access access = accessTo(reading.policy, request.host, request.port);
  if (decision.allowed && !access.any()) std::abort();
  if (access.tcp && (access.http_over_tls || access.plain_http || access.tunnel)) std::abort();
  if (access.any() && !mayResolve(reading.policy, request.host) &&
      request.host.find(':') == std::string::npos &&
      request.host.find_first_not_of("0123456789.") != std::string::npos)
    std::abort();
  const Policy back = policyFromJson(toJson(reading.policy));
  if (decide(back, request).allowed != decision.allowed) std::abort();
  // A policy that denies everything it allows lets nothing through.
  Policy closed = reading.policy;
  closed.deny = closed.allow;
  if (decide(closed, request).allowed) std::abort();
  const Access left = accessTo(closed, request.host, request.port);
  if (left.tunnel || left.tcp) std::abort();
  return 0;
}
